"""What the writeup says: both languages the same, its worked examples what the solutions compute, its sheet complete.

``test_pages.py`` looks at headings, display formulas and code blocks; this file looks at what stands between them.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from autograder.feedback.assignment import load_assignment, read_assignment
from autograder.pages import render
from autograder.regions import find_regions

ROOT = Path(__file__).resolve().parents[2]
WRITEUP = ROOT / "solutions" / "writeup"
ENGLISH = sorted(path.name for path in WRITEUP.glob("*.md") if not path.name.endswith(".zh.md"))
PARTS = [name for name in ENGLISH if re.match(r"[0-9B]-", name)]
NUMBER = r"-?\d+(?:\.\d+)?(?:/\d+)?|inf"
# what is the same number in the other language's units: 2.5 billion
ELSEWHERE = {"2.5"}


@pytest.fixture(scope="module", autouse=True)
def solved():
    """The solved package can be imported as ``lm``, here and in the pages' own code."""
    sys.path.insert(0, str(ROOT / "solutions"))
    yield
    sys.path.remove(str(ROOT / "solutions"))


def read(name):
    """A page."""
    return (WRITEUP / name).read_text(encoding="utf-8")


def chinese(name):
    """The same page in Chinese."""
    return name.replace(".md", ".zh.md")


def sections(text):
    """The heading and the text of each section, without what stands in code blocks."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [part.split("\n", 1) for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE) if part.startswith("#")]


def worked(name, language):
    """The section with the worked example: what its code leaves, its text, and the cells of all rows."""
    title = {"md": "In numbers", "zh.md": "用数字走一遍"}[language]
    page = read(f"{name}.{language}")
    body = re.search(rf"^(#+) {title}$(.*?)(?=^#{{1,3}} )", page, re.MULTILINE | re.DOTALL)[2]
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", body, re.DOTALL):
        exec(block, namespace)  # a page of ours
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.split("\n") if line.startswith("| ")]
    return namespace, body, rows


def numbers(cell):
    """All numbers of a cell, as written."""
    return re.findall(NUMBER, cell)


def says(cell, values):
    """Whether a cell holds just these numbers, each as exact as it is written."""
    found, values = numbers(cell), np.ravel(values).tolist()
    return len(found) == len(values) and all(map(rounds_to, found, values))


def rounds_to(written, value):
    """Whether a number, as written, is this value, rounded."""
    if written == "inf":
        return value == math.inf
    digits = len(written.partition(".")[2]) if "/" not in written else 12
    return abs(float(Fraction(written)) - value) <= 0.5000001 * 10.0**-digits


LANGUAGES = pytest.mark.parametrize("language", ["md", "zh.md"], ids=["english", "chinese"])


# Both languages.


@pytest.mark.parametrize("name", ENGLISH, ids=str)
def test_sections_have_the_same_formulas_names_and_decimals(name):
    """In every section both languages use the same formulas in a line, the same code spans, and the same decimals."""
    pages = sections(read(name)), sections(read(chinese(name)))
    assert len(pages[0]) == len(pages[1])
    for (title, english), (_, other) in zip(*pages, strict=True):
        for pattern in (r"\$[^$\n]+\$", r"`[^`]+`", r"(?<![\w.])-?\d+\.\d+(?!\w)"):
            texts = [re.sub(r"\\text\{[^{}$]*\}", "", text.replace(".zh.md", ".md")) for text in (english, other)]
            said = [set(re.findall(pattern, text)) - ELSEWHERE for text in texts]
            assert said[0] == said[1], f"{name}, {title}"


@pytest.mark.parametrize("name", ENGLISH, ids=str)
def test_sections_have_the_same_lists(name):
    """As many entries, with the same marks."""
    pages = [
        [re.findall(r"^(?:-|\d+\.) .*?(<!--.*)?$", body, re.MULTILINE) for _, body in sections(read(page))]
        for page in (name, chinese(name))
    ]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("name", ENGLISH, ids=str)
def test_papers_are_the_same(name):
    """Each with a year, a title and a place; names of papers are not translated."""
    lists = []
    for page, title in ((name, "Papers"), (chinese(name), "论文")):
        lists.append([body for heading, body in sections(read(page)) if heading.strip("# ") == title])
    assert lists[0] == lists[1]
    for line in "\n".join(lists[0]).split("\n"):
        assert not line or re.fullmatch(r"- [^()]+ \(\d{4}\)\. [^.?]+[.?] .+\.(?: <!-- with \w+ -->)?", line), line


@LANGUAGES
def test_every_item_has_a_text(language):
    """A heading alone explains nothing."""
    slugs = set()
    for name in PARTS:
        for part in re.split(r"^(?=#{1,2} )", read(name.replace("md", language)), flags=re.MULTILINE):
            mark = re.match(r"## .* <!-- item (\w+) -->\n(.*)", part, re.DOTALL)
            if mark is not None:
                assert len(mark[2]) > 60, mark[1]
                slugs.add(mark[1])
    assert slugs == set(load_assignment(ROOT / "assignment.toml").by_slug)


@pytest.mark.parametrize("name", [name for name in PARTS if name[0] in "01234"], ids=str)
def test_pages_of_parts_have_all_that_a_student_looks_for(name):
    """Links to the two sheets, a worked example, traps, what counts, papers."""
    page = read(name)
    titles = [heading.strip("# ") for heading, _ in sections(page)]
    assert {"In numbers", "Common traps", "What counts", "Papers"} <= set(titles)
    assert "(conventions.md)" in page
    assert "(shapes.md)" in page


# Worked examples.


@LANGUAGES
def test_two_sentences_in_numbers(language):
    """Page 0: probabilities, entropies and perplexities are those of the two sentences."""
    metrics, ngram = import_module("lm.metrics"), import_module("lm.ngram")
    _, body, rows = worked("0-paper", language)
    text = [words.split() for words in re.findall(r'"(the [^"]+)"', body)]
    model = ngram.MLE(ngram.count(text, 2))
    assert len(rows) == 4
    for name, predictions, product, nats, bits, perplexity in rows[2:]:
        words = name.split()
        steps = [model.prob(w, (c,)) for c, w in zip(["<s>", *words], [*words, "</s>"], strict=True)]
        assert says(predictions, steps)
        assert says(product, math.prod(steps))
        assert says(nats, metrics.cross_entropy(model, [words]))
        assert says(bits, metrics.bits(metrics.cross_entropy(model, [words])))
        assert says(perplexity, metrics.perplexity(model, [words]))


@LANGUAGES
def test_three_sentences_in_numbers(language):
    """Page 1: each call returns what is worked out beside it."""
    namespace, body, rows = worked("1-ngrams", language)
    assert len(rows) == 14
    for call, by_hand, written in rows[2:]:
        value = float(eval(call.strip("`"), namespace))  # a page of ours
        assert eval(by_hand.strip("`"), {"log": math.log}) == pytest.approx(value, rel=1e-12), call
        assert says(written, value), call
    text = namespace["text"]
    row = namespace["high"].counts["the",]
    sizes = [sum(map(len, text)), len(text), row["cow"], row["bat"], len(namespace["low"].vocabulary)]
    assert numbers(body.strip().split("\n\n")[0]) == list(map(str, sizes))


@LANGUAGES
def test_the_small_net_in_numbers(language):
    """Page 2: values, and gradients by all of them."""
    modules, procedural = import_module("lm.modules"), import_module("lm.procedural")
    namespace, _, rows = worked("2-backprop", language)
    x, y, alpha, beta = (namespace[name] for name in ("x", "y", "alpha", "beta"))
    values = procedural.forward(x, y, alpha, beta)
    g_alpha, g_beta = procedural.backward(x, y, alpha, beta, values)
    hidden, output, loss = modules.Linear(alpha), modules.Linear(beta), modules.SoftmaxCrossEntropy(int(y.argmax()))
    g_b = loss.backward(values.b, values.J, 1.0)
    g_z = output.backward(values.z, values.b, g_b)
    g_a = modules.Sigmoid().backward(values.a, values.z, g_z)
    hidden.backward(x, values.a, g_a)
    np.testing.assert_allclose(g_alpha, hidden.weight.grad)
    np.testing.assert_allclose(g_beta, output.weight.grad)
    expected = [
        (values.a, g_a), (values.z, g_z), (values.b, g_b), (values.y_hat, []), (values.J, 1.0),
        ([], g_alpha), ([], g_beta),
    ]  # fmt: skip
    assert len(rows) == len(expected) + 2
    for (name, value, gradient), (right, slope) in zip(rows[2:], expected, strict=True):
        assert says(value, right), name
        assert says(gradient, slope), name
    assert [cell.count(";") for cell in (rows[-2][2], rows[-1][2])] == [len(alpha) - 1, len(beta) - 1]


@LANGUAGES
def test_the_tape_in_numbers(language):
    """Page 3: what arrives at each value, what goes along each edge, what the leaves hold, and after a second run."""
    namespace, body, rows = worked("3-tape", language)
    a, b, tape = (namespace[name] for name in ("a", "b", "tape"))
    assert says(rows[7][1], a.grad)
    assert says(rows[8][1], b.grad)
    program = dict(re.findall(r"^([uvy]) = (.*)$", body, re.MULTILINE))
    again = {"a": a, "b": b}
    for name, formula in program.items():
        again[name] = eval(formula, again)  # a page of ours
    edges = {id(out): given for out, given in tape.nodes}
    assert len(program) == 3
    for row, (name, formula) in zip(rows[2:5], reversed(program.items()), strict=True):
        value = namespace[name]
        assert row[0] == f"`{name} = {formula}`"
        assert says(row[1], value.data)
        assert says(row[2], value.grad)
        local = [edge[1](value.grad) for edge in edges[id(again[name])]]
        targets = [next(n for n in "abuv" if again[n] is edge[0]) for edge in edges[id(again[name])]]
        for cell, target, g in zip(row[3:], targets, local, strict=True):
            assert f"`{target}`" in cell
            assert says(cell, g), cell
    tape.backward(again["y"])
    assert re.search(r"`a\.grad`\D*(\d+)", body)[1] == f"{float(a.grad):g}"


@LANGUAGES
def test_backpropagation_through_time_in_numbers(language):
    """Page 4: both tables, row by row, agree with the forward pass, one step backwards, BPTT and differences."""
    rnn, gradcheck = import_module("lm.rnn"), import_module("lm.gradcheck")
    namespace, body, rows = worked("4-rnn", language)
    params, inputs, targets, mask, h0 = (namespace[n] for n in ("params", "inputs", "targets", "mask", "h0"))
    logits, cache = rnn.rnn_forward(inputs, params, h0)
    loss, dlogits = rnn.masked_cross_entropy(logits, targets, mask)
    x, h = cache.x, cache.h
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    surprise = [-np.log(probabilities[0, t, targets[0, t]]) for t in (0, 1)]
    own = [dlogits[:, t] @ params.W_hy for t in (0, 1)]
    second = rnn.rnn_step_backward(own[1], x[:, 1], h[:, 1], h[:, 2], params)
    first = rnn.rnn_step_backward(own[0] + second.h_prev, x[:, 0], h[:, 0], h[:, 1], params)
    both = rnn.rnn_backward(dlogits, cache, params)

    by_hand = {"h0": h0, **vars(params)}
    for name, array in by_hand.items():

        def run(_):
            return rnn.masked_cross_entropy(rnn.rnn_forward(inputs, params, h0)[0], targets, mask)[0]

        np.testing.assert_allclose(getattr(both, name), gradcheck.numerical_gradient(run, array), atol=1e-9)
    np.testing.assert_allclose(both.h0, first.h_prev)
    np.testing.assert_allclose(both.E, [[0.0], first.x[0], second.x[0]])

    outer = [dlogits[:, t].T @ h[:, t + 1] for t in (0, 1)]
    forwards = [
        (x[:, 0], x[:, 1]), (h[:, 0], h[:, 1]), np.arctanh(h[0, 1:]), (h[:, 1], h[:, 2]), logits[0],
        probabilities[0], surprise,
    ]  # fmt: skip
    backwards = [
        (*dlogits[0], []), (*own, []), (second.h_prev, [0, 0], []), (own[0] + second.h_prev, own[1], []),
        (first.b_h, second.b_h, []), (first.h_prev, second.h_prev, []), (first.x, second.x, []),
        (first.W_hh, second.W_hh, both.W_hh), (first.W_xh, second.W_xh, both.W_xh),
        (first.b_h, second.b_h, both.b_h), (*outer, both.W_hy), (*dlogits[0], both.b_y),
    ]  # fmt: skip
    assert len(rows) == len(forwards) + len(backwards) + 4
    tables = zip(rows[2:9] + rows[11:], forwards + backwards, strict=True)
    for (name, *cells), expected in tables:
        for cell, values in zip(cells, expected, strict=True):
            assert says(cell, values), name
            if np.ndim(values) == 2 and len(values) > 1:
                assert cell.count(";") == len(values) - 1, name
    assert f"{loss:.4f}" in body.split("\n\n| ")[1].split("\n\n")[1]


def test_numbers_of_the_bonus():
    """Page B: the examples of every item, in both languages."""
    duals, ngram, smoothing = (import_module(f"lm.{name}") for name in ("forward_mode", "ngram", "smoothing"))
    y = duals.Dual(2.0, 1.0) * duals.sin(duals.Dual(2.0, 1.0))
    text = [line.split() for line in ("the cow eats corn", "the cow eats hay", "the bat eats flies")]
    tables = [ngram.count(text, n) for n in (1, 2)]
    backoff, kneser_ney = smoothing.StupidBackoff(tables), smoothing.KneserNey(tables[1])
    scores = [backoff.prob(word, ("the",)) for word in backoff.vocabulary]
    assert sum(kneser_ney.prob(word, ("the",)) for word in kneser_ney.vocabulary) == pytest.approx(1)
    assert len(kneser_ney.vocabulary) == 8
    assert smoothing.good_turing({1: 3, 2: 1, 3: 1, 10: 1}) == {1: pytest.approx(2 / 3), 2: 3.0, 3: 3.0, 10: 10.0}
    q, p, weight, steps = np.array([0.8, 0.8, 0.2]), np.array([0.2, 0.2, 0.8]), 0.5, []
    for _ in range(2):
        posterior = weight * q / (weight * q + (1 - weight) * p)
        weight = posterior.mean()
        steps += [*posterior[1:], weight]
    said = [
        f"{math.sin(2):.4f}", f"{math.cos(2):.4f}", f"= {y.value:.4f}", f"= {y.tangent:.4f}",
        f"{backoff.prob('hay', ('the',)):.3f}", f"{sum(scores):.2f}",
        f"{kneser_ney.prob('cow', ('the',)):.3f}", f"{kneser_ney.prob('hay', ('the',)):.3f}",
        *(f"{step:.3f}".rstrip("0") for step in steps), "7/9 = 0.778",
    ]  # fmt: skip
    for page in ("B-bonus.md", "B-bonus.zh.md"):
        assert [number for number in said if number not in read(page)] == []
    assert backoff.prob("hay", ("fish",)) == pytest.approx(backoff.prob("hay", ("the",)))


@LANGUAGES
def test_errors_of_differences(language):
    """Page 2: the table of both kinds of difference for the sine at 1, to its one digit."""
    rows = re.findall(r"^\| (1e-\d+) \| (\S+) \| (\S+) \|$", read(f"2-backprop.{language}"), re.MULTILINE)
    assert len(rows) == 6
    for eps, one_sided, central in rows:
        step = float(eps)
        errors = (
            (math.sin(1 + step) - math.sin(1)) / step - math.cos(1),
            (math.sin(1 + step) - math.sin(1 - step)) / (2 * step) - math.cos(1),
        )
        assert [f"{abs(error):.0e}" for error in errors] == [one_sided, central], eps


# The two sheets.


def shapes(language):
    """(file, qualified name, parameters as written, slug of the row's mark) of every function on the sheet."""
    found = []
    for line in read(f"shapes.{language}").split("\n"):
        row = re.fullmatch(r"\| (`.*?`) \|.*\| <!-- with (\w+) -->", line)
        if row is not None:
            calls = re.findall(r"`(\w+)\.([\w.]+)\(([^`]*)\)`", row[1])
            assert len(calls) == row[1].count("`") / 2, line
            found += [(*call, row[2]) for call in calls]
    return found


def test_the_sheet_of_shapes_is_complete():
    """Every function with a region is there, under its item's mark, and nothing else."""
    wanted = set()
    for file in load_assignment(ROOT / "assignment.toml").files:
        if file.endswith(".py"):
            source = (ROOT / "solutions" / "lm" / file).read_text(encoding="utf-8")
            for region in find_regions(source, file)[1]:
                if region.function is not None:
                    name = ".".join(scope.name for scope in region.scopes)
                    wanted.add((file[:-3], name.removesuffix(".__init__"), region.slug))
    on_the_sheet = [(file, name, slug) for file, name, _, slug in shapes("md")]
    assert sorted(on_the_sheet) == sorted(wanted)


@LANGUAGES
def test_the_sheet_of_shapes_has_the_real_parameters(language):
    """Names, order and defaults, as the source has them."""
    assert shapes(language) == shapes("md")
    for file, name, parameters, _ in shapes(language):
        scope = ast.parse((ROOT / "solutions" / "lm" / f"{file}.py").read_text(encoding="utf-8")).body
        for step in name.split("."):
            node = next(node for node in scope if getattr(node, "name", None) == step)
            scope = node.body
        if isinstance(node, ast.ClassDef):
            node = next(inner for inner in node.body if getattr(inner, "name", None) == "__init__")
        assert parameters_of(node) == parameters, name


def parameters_of(function):
    """As one writes them in a call, without self and types."""
    given = function.args
    names = [argument.arg for argument in given.args]
    defaults = [None] * (len(names) - len(given.defaults)) + [repr(ast.literal_eval(d)) for d in given.defaults]
    written = [
        name if default is None else f"{name}={default}"
        for name, default in zip(names, defaults, strict=True)
        if name != "self"
    ]
    return ", ".join(written + ([f"*{given.vararg.arg}"] if given.vararg else []))


def test_what_is_read_from_the_source_is_what_python_sees():
    """For the files that need no torch, the parameters are those of ``inspect`` as well."""
    for file, name, parameters, _ in shapes("md"):
        if file not in ("torch_lm", "lstm", "seq2seq"):
            function = import_module(f"lm.{file}")
            for step in name.split("."):
                function = getattr(function, step)
            seen = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()]
            assert ", ".join(str(p) for p in seen if p.name != "self").replace(" = ", "=") == parameters, name


# With parts switched off.


@pytest.fixture(scope="module")
def without_torch():
    """The assignment, its part about PyTorch switched off."""
    path = ROOT / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    assert text.count("torch = true\n") == 1
    return read_assignment(text.replace("torch = true\n", "torch = true\noff = true\n"), path)


def test_without_its_part_pytorch_leaves_no_trace(without_torch):
    """No page names it, no mark is left, and nothing links to a page that is gone."""
    pages = {path.name: render(read(path.name), path.name, without_torch) for path in WRITEUP.glob("*.md")}
    gone = {name for name, page in pages.items() if not page}
    assert gone == {"5-torch.md", "5-torch.zh.md"}
    for name, page in pages.items():
        assert not re.search(r"torch|<!--", page, re.IGNORECASE), name
        for target in re.findall(r"\]\((?!http|\.\.)([^)#]+)\)", page):
            assert target in pages, f"{name}: {target}"
            assert target not in gone, f"{name}: {target}"


@pytest.mark.parametrize("name", ENGLISH, ids=str)
def test_links_stay_in_the_language(name):
    """But for the one to the other language, in the third line."""
    for page, ending in ((name, ".md"), (chinese(name), ".zh.md")):
        first, rest = read(page).split("\n", 3)[2], read(page).split("\n", 3)[3]
        targets = re.findall(r"\]\((?!http)([^)#]+\.md)\)", rest) + re.findall(r" · \[[^]]*\]\(([^)]+)\)", first)
        assert [target for target in targets if target.endswith(".zh.md") != (ending == ".zh.md")] == []
