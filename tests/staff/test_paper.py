"""Part 0: the lectures' numbers, the texts of all terms, and that no handout tells what it asks for."""

from __future__ import annotations

import ast
import re
import types
from fractions import Fraction
from pathlib import Path

import pytest
from lm import answers

from autograder.build import handout_members, submission_members
from autograder.feedback.assignment import load_assignment
from autograder.grade import grade
from autograder.proof.catalogue import apply, load_alternatives, load_mistakes
from autograder.secret import DEVELOPMENT
from autograder.variants import choose, load_variants

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT = load_assignment(ROOT / "assignment.toml")
(GROUP,) = load_variants(ROOT)
TEXTS = [[line.split() for line in choice] for choice in GROUP.choices]
SECRETS = {GROUP.pick(secret): secret for secret in (b"the secret of term %d" % i for i in range(1000))}
LECTURE = [sentence.split() for sentence in ("the cow eats corn", "the cow eats hay", "the bat eats flies")]
QUESTIONS = ("bigram_probabilities", "sentence_probability", "add_one")
SOURCE = {"lm/answers.py": (ROOT / "solutions/lm/answers.py").read_bytes()}


def answered(module, text):
    """What a version of answers.py says about a text: a tuple for each question, None where it breaks down."""
    module.CORPUS = text
    found = {}
    for name in QUESTIONS:
        try:
            found[name] = tuple(getattr(module, name)())
        except ArithmeticError:
            found[name] = None
    return found


def changed(entry, alternatives=()):
    """answers.py with an entry of the catalogue, as a module."""
    module = types.ModuleType("lm.answers")
    module.__package__ = "lm"
    exec(compile(apply(entry, SOURCE, alternatives)["lm/answers.py"], entry.id, "exec"), module.__dict__)
    return module


def about_the_text(entry):
    """Whether an entry is about a question on the text."""
    return all(change.function.partition(".")[2] in (*QUESTIONS, "_bigrams", "_p") for change in entry.changes)


@pytest.fixture(scope="module")
def solutions():
    """The right answers for each text."""
    before = answers.CORPUS
    found = [answered(answers, text) for text in TEXTS]
    answers.CORPUS = before
    return found


def same(got, expected):
    """Whether all numbers of one answer are right, as the hidden tests see it."""
    return got is not None and all(abs(x - y) <= 1e-9 * abs(y) for x, y in zip(got, expected, strict=True))


# The lectures' numbers.

VALUES = {
    "next_word": (
        lambda: answers.next_word_probability({"corn": 4, "grass": 3, "hay": 2, "if": 1, "which": 1}, "corn"),
        4 / 11,
        1e-12,
    ),
    "uniform": (lambda: answers.uniform_perplexity(54), 54, 0),
    "two_levels": (lambda: answers.two_level_perplexity(0.2, 10, 100), 10**0.2 * 100**0.8, 1e-12),
    "bits": (lambda: answers.bits_saved(2.856, 2.540, 11.6)[0], 0.1692, 5e-5),
    "nats": (lambda: answers.bits_saved(2.856, 2.540, 11.6)[1], 0.1173, 5e-5),
    "bits_of_a_sentence": (lambda: answers.bits_saved(2.856, 2.540, 11.6)[2], 1.962, 5e-4),
    "factor": (lambda: answers.bits_saved(2.856, 2.540, 11.6)[3], 3.90, 5e-3),
    "rnn": (lambda: answers.rnn_lm_parameters(56, 32, 64), 11_640, 0),
    "large_rnn": (lambda: answers.rnn_lm_parameters(50_000, 1024, 1024), 104_548_176, 0),
    "tied_rnn": (lambda: answers.rnn_lm_parameters(50_000, 1024, 1024, tied=True), 53_348_176, 0),
    "share": (lambda: answers.output_share(50_000, 1024, 1024), 0.980, 5e-4),
    "unshared": (lambda: answers.unshared_recurrence(64, 10), 40_960, 0),
    "trigrams": (lambda: answers.ngram_entries(50_000, 3), 1.25e14, 0),
    "window": (lambda: answers.fixed_window_parameters(10_000, 100, 200, 4), 3_080_000, 0),
    "training": (lambda: answers.training_memory(7e9, 16), 104.31, 5e-3),
    "float32": (lambda: answers.training_memory(175e9, 4), 651.93, 5e-3),
    "bfloat16": (lambda: answers.training_memory(175e9, 2), 325.96, 5e-3),
    "ratio": (lambda: answers.operation_ratio(1000), 375, 0),
    "below": (lambda: answers.gradient_left(0.9, 0.5, 100), 2.10e-35, 5e-38),
    "above": (lambda: answers.gradient_left(1.1, 0.5, 100), 1.09e-26, 5e-29),
    "break_even": (lambda: answers.break_even_weight(0.5), 2, 0),
    "states": (lambda: answers.hidden_state_bytes(1000, 64, 512), 125 * 2**20, 0),
    "truncated": (lambda: answers.hidden_state_bytes(1000, 64, 512, 35), 4.375 * 2**20, 0),
    "beam": (lambda: answers.beam_candidates(50_000, 5, 20), 4_800_000, 0),
}


@pytest.mark.parametrize("case", VALUES)
def test_the_lectures_numbers(case):
    """As printed, to half of their last digit."""
    call, expected, allowed = VALUES[case]
    assert abs(call() - expected) <= allowed


def test_the_lectures_exercise(monkeypatch):
    """The three sentences on the cow and the bat."""
    monkeypatch.setattr(answers, "CORPUS", LECTURE)
    assert answers.bigram_probabilities() == (Fraction(2, 3), Fraction(1, 3), 1)
    probability, perplexity = answers.sentence_probability()
    assert (probability, round(perplexity, 4)) == (Fraction(1, 9), 1.5518)
    assert answers.add_one() == (Fraction(2, 11), 0, Fraction(1, 12))
    assert answers.jacobian_passes(3, 10**6) == (3, 10**6)


# The texts.


def test_there_are_about_twenty_texts_in_the_same_few_words():
    """Four to six sentences of at most six words; nobody has to count far."""
    assert 18 <= len(TEXTS) <= 26
    words = {word for text in TEXTS for sentence in text for word in sentence}
    assert len(words) <= 16
    for text in TEXTS:
        assert 4 <= len(text) <= 6
        assert max(len(sentence) for sentence in text) <= 6
        assert "fish" not in words
        assert ["the", "bat", "eats", "corn"] not in text


def test_answers_exist_and_differ_from_the_lectures(solutions):
    """Every probability but that of the unknown word lies strictly between 0 and 1, and none is the lecture's."""
    for found in solutions:
        for name, lecture in zip(QUESTIONS, ((2 / 3, 1 / 3, 1), (1 / 9, 9**0.2), (2 / 11, 0, 1 / 12)), strict=True):
            for place, (value, theirs) in enumerate(zip(found[name], lecture, strict=True)):
                if (name, place) == ("add_one", 1):
                    assert value == 0
                elif (name, place) == ("sentence_probability", 1):
                    assert 1 < value != pytest.approx(theirs)
                else:
                    assert 0 < value < 1
                    assert float(value) != pytest.approx(theirs)


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_differ_from_text_to_text(solutions, name):
    """Last year's are wrong this year."""
    assert len({found[name] for found in solutions}) == len(TEXTS)


def test_no_known_mistake_is_right_on_any_text(solutions):
    """Whatever text the term gets, each entry of the catalogue answers some question on it wrongly."""
    mistakes = [
        entry
        for entry in load_mistakes(ROOT / "tests/mistakes", ASSIGNMENT)
        if entry.items == ("paper_ngrams",) and about_the_text(entry)
    ]
    assert len(mistakes) >= 15
    for entry in mistakes:
        module = changed(entry)
        for text, right in zip(TEXTS, solutions, strict=True):
            found = answered(module, text)
            assert not all(same(found[name], right[name]) for name in QUESTIONS), (entry.id, text)


def test_alternatives_are_right_on_every_text(solutions):
    """However they count."""
    alternatives = load_alternatives(ROOT / "tests/alternatives", ASSIGNMENT)
    entries = [entry for entry in alternatives if entry.item == "paper_ngrams" and about_the_text(entry)]
    assert len(entries) >= 3
    for entry in entries:
        module = changed(entry, alternatives)
        for text, right in zip(TEXTS, solutions, strict=True):
            found = answered(module, text)
            assert all(same(found[name], right[name]) for name in QUESTIONS), (entry.id, text)


# What students get.


@pytest.fixture(scope="module")
def handout():
    """The handout of the development secret."""
    return {name: member.content for name, member in handout_members(ROOT, ASSIGNMENT).items()}


def chosen(content, number):
    """A file with the text of that number, as the builder makes it."""
    return choose({"lm/answers.py": content}, (GROUP,), SECRETS[number])["lm/answers.py"].decode()


def test_the_text_stands_in_the_constant_and_in_each_docstring(handout):
    """The same one in all four places, in the stub and in the solution."""
    for number, text in enumerate(TEXTS):
        for content in (handout["lm/answers.py"], SOURCE["lm/answers.py"]):
            source = chosen(content, number)
            lines = GROUP.choices[number]
            assert source.count("\n" + "".join(f"        {line}\n" for line in lines)) == 3
            tree = ast.parse(source)
            constants = [node.value for node in tree.body if isinstance(node, ast.Assign)]
            assert text in [eval(compile(ast.Expression(node), "text", "eval"), vars(answers)) for node in constants]
            docstrings = {node.name: ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
            for name in QUESTIONS:
                assert "\n".join(f"    {line}" for line in lines) in docstrings[name]


def test_two_secrets_give_two_handouts(handout):
    """In one file and its digest, and there in nothing but the text: what is the same for all tells no answer."""
    held = GROUP.pick(DEVELOPMENT)
    for number in ((held + 1) % len(TEXTS), (held + 2) % len(TEXTS)):
        other = {name: member.content for name, member in handout_members(ROOT, ASSIGNMENT, SECRETS[number]).items()}
        assert {name for name in handout if other[name] != handout[name]} == {"lm/answers.py", "tests/facts.json"}
        assert other["lm/answers.py"].decode() == chosen(handout["lm/answers.py"], number)
        assert other.keys() == handout.keys()
    stubs = [chosen(handout["lm/answers.py"], number) for number in range(len(TEXTS))]
    assert len(set(stubs)) == len(TEXTS)
    without = set()
    for number, stub in enumerate(stubs):
        for indent in ("        ", "    "):
            stub = stub.replace("".join(f"{indent}{line}\n" for line in GROUP.choices[number]), "")
        without.add(stub)
    assert len(without) == 1


def written(value):
    """Patterns of the ways to write a number down: as a fraction, or with four digits."""
    if isinstance(value, Fraction):
        yield rf"(?<![\d.]){value.numerator} ?/ ?{value.denominator}(?!\d)"
        yield rf"Fraction\({value.numerator}, {value.denominator}\)"
    yield rf"(?<![\d.]){re.escape(f'{float(value):.9f}'[:6])}"


def test_no_answer_stands_in_the_handout(handout, solutions):
    """Neither in the stubs nor in tests or pages, whichever text the term has; 1/2 and 2/3 stand everywhere."""
    pages = [name for name in handout if name.endswith("answers.py") or name.startswith("writeup/0")]
    for number, found in enumerate(solutions):
        values = {value for name in QUESTIONS for value in found[name] if value != 0}
        telling = [value for value in values if not (isinstance(value, Fraction) and value.denominator < 10)]
        assert len(telling) >= 3
        for name in pages:
            text = chosen(handout[name], number) if name == "lm/answers.py" else handout[name].decode()
            for value in telling:
                assert not any(re.search(pattern, text) for pattern in written(value)), (name, str(value))


@pytest.mark.parametrize("further", [1, 2], ids=["one", "another"])
def test_a_term_is_graded_by_its_own_text(tmp_path, further):
    """The term's solutions get all points with the term's secret, from the repository too, and not with another one."""
    number = (GROUP.pick(DEVELOPMENT) + further) % len(TEXTS)
    for name, member in submission_members(ROOT, ASSIGNMENT, None, SECRETS[number]).items():
        (tmp_path / name).write_bytes(member.content)
    points = ASSIGNMENT.by_slug["paper_ngrams"].points
    assert grade(tmp_path, ROOT, secret=SECRETS[number], items=["paper_ngrams"]).scores["paper_ngrams"] == points
    assert grade(tmp_path, ROOT, items=["paper_ngrams"]).scores["paper_ngrams"] < points
