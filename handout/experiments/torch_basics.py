"""PyTorch: a tape made fast, and its rules | PyTorch：工业级的磁带，以及它的规矩

What autograd records, who runs hooks, which numbers an optimiser finds, why gradients are zeroed, and how much memory
a model takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .run import Run, Step
from .tape_tools import sentence, spiral

ADAM_STEPS = 800


def same_net(run: Run) -> None:
    """PyTorch's gradients of the small net are those of the formulas written out by hand."""
    import torch
    from lm import procedural

    rng = run.rng("small net")
    x, alpha, beta = rng.normal(size=4), rng.normal(size=(5, 4)), rng.normal(size=(3, 5))
    y = np.eye(3)[1]
    by_hand = procedural.backward(x, y, alpha, beta, procedural.forward(x, y, alpha, beta))
    a: Any = torch.tensor(alpha, requires_grad=True)
    b: Any = torch.tensor(beta, requires_grad=True)
    logits = b @ torch.sigmoid(a @ torch.tensor(x))
    torch.nn.functional.cross_entropy(logits[None], torch.tensor([1])).backward()
    pairs = ("alpha", a, by_hand[0]), ("beta", b, by_hand[1])
    rows: list[list[Any]] = [
        [name, str(g.shape), float(np.abs(leaf.grad.numpy() - g).max())] for name, leaf, g in pairs
    ]
    run.table("small-net", ["parameter", "shape", "largest difference"], rows)
    run.look("two ways, one gradient: only the rounding differs", "两种写法，同一个梯度：只差舍入误差")
    run.figure("4.9 small net: PyTorch against formulas", max(row[2] for row in rows), 0, 1e-12, "3e-17")


def branches(run: Run) -> None:
    """The graph is what the program did: another branch, another graph."""
    import torch

    from .torch_basics_tools import by_branch, chain

    rows: list[list[Any]] = []
    for numbers in ([1.0, 2.0], [-1.0, -2.0]):
        x: Any = torch.tensor(numbers, requires_grad=True)
        y = by_branch(x)
        y.backward()
        rows.append([str(numbers), chain(y), str([round(g, 4) for g in x.grad.tolist()])])
    run.table("branches", ["x", "recorded, the last first", "x.grad"], rows)
    run.look(
        "an if in Python chose the graph: 2x on one branch, 3 cos x on the other; AccumulateGrad adds to x.grad",
        "Python 的 if 决定了计算图：一个分支是 2x，另一个是 3 cos x；AccumulateGrad 把梯度累加进 x.grad",
    )
    run.figure("4.9 branches: different graphs in two calls", len({row[1] for row in rows}), 2, 2, "2")


def hooks(run: Run) -> None:
    """model(x) runs the hooks, model.forward(x) does not."""
    import torch

    model, x = torch.nn.Linear(2, 3), torch.ones(1, 2)
    calls: list[tuple[int, ...]] = []
    model.register_forward_hook(lambda module, inputs, output: calls.append(tuple(output.shape)))
    rows: list[list[Any]] = []
    for name, call in (("model(x)", model), ("model.forward(x)", model.forward)):
        calls.clear()
        call(x)
        rows.append([name, len(calls)])
    run.table("hooks", ["call", "hooks run"], rows)
    english = "the result is the same, but no hook ran: always write model(x)"
    run.look(english, "结果一样，但钩子没有执行：永远写 model(x)")
    run.figure("4.9 hooks run by model(x)", rows[0][1], 1, 1, "1")
    run.figure("4.9 hooks run by model.forward(x)", rows[1][1], 0, 0, "0")


def inside_your_rnn(run: Run) -> None:
    """What a tool sees that hangs a hook on each layer of your RNN language model."""
    import torch
    from lm.corpus import vocabulary
    from lm.torch_lm import VanillaRNNLM

    model = VanillaRNNLM(len(vocabulary()), 32, 64)
    calls: dict[str, list[tuple[int, ...]]] = {name: [] for name, _ in model.named_children()}
    for name, layer in model.named_children():
        layer.register_forward_hook(lambda module, inputs, output, name=name: calls[name].append(tuple(output.shape)))
    inputs, _ = sentence()
    with torch.no_grad():
        model(torch.tensor([inputs]))
    rows: list[list[Any]] = []
    for name, layer in model.named_children():
        size = sum(parameter.numel() for parameter in layer.parameters())
        rows.append([name, size, len(calls[name]), str(calls[name][-1]) if calls[name] else "-"])
    rows.append(["all", sum(row[1] for row in rows), sum(row[2] for row in rows), ""])
    run.table("inside-your-rnn", ["layer", "parameters", "calls for 15 words", "its last output"], rows)
    run.look(
        "the layer that is called for each word is the one through which the state goes; a layer with no call was used"
        " by its weight, past its hooks",
        "每读一个词都要调用一次的层，就是状态经过的那一层；调用次数为 0 的层是直接用了权重，绕过了钩子",
    )


def registered(run: Run) -> None:
    """A plain tensor and a module in a Python list are no parameters: nobody trains, saves or converts them."""
    import torch

    from .torch_basics_tools import Kinds

    model = Kinds()
    before = {name: tensor.detach().clone() for name, tensor in model.kinds().items()}
    found = {id(parameter) for parameter in model.parameters()}
    saved = {value.data_ptr() for value in model.state_dict().values()}
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(3)).sum().backward()
    optimiser.step()
    seen: dict[str, list[bool]] = {
        name: [id(tensor) in found, tensor.data_ptr() in saved, tensor.grad is not None, not tensor.equal(before[name])]
        for name, tensor in model.kinds().items()
    }
    converted = {name: tensor.dtype == torch.float64 for name, tensor in model.double().kinds().items()}
    rows = [[name, *("yes" if is_so else "-" for is_so in (*seen[name], converted[name]))] for name in seen]
    columns = [
        "in __init__",
        "parameters()",
        "state_dict()",
        "has a gradient",
        "moved by a step",
        "float64 by double()",
    ]
    run.table("registered", columns, rows)
    run.look(
        "a plain tensor and a layer in a Python list get their gradients, and nobody uses them: no error, no training",
        "普通张量和放在 Python 列表里的层都得到了梯度，却没有人用它们：不报错，也不训练",
    )
    for key, name in (("a plain tensor", "torch.ones(.., requires_grad=True)"), ("a Python list", "[nn.Linear(..)]")):
        run.figure(f"4.9 parameters found in {key}", float(seen[name][0]), 0, 0, "0")
    run.figure("4.9 tensors found of five that have gradients", len(found), 3, 3)


def adding_up(run: Run) -> None:
    """Gradients add up, and a graph serves one backward."""
    import torch

    added: Any = torch.tensor(1.0, requires_grad=True)
    zeroed: Any = torch.tensor(1.0, requires_grad=True)
    rows: list[list[Any]] = []
    for call in (1, 2, 3):
        zeroed.grad = None
        for leaf in (added, zeroed):
            (3 * leaf).backward()
        rows.append([call, added.grad.item(), zeroed.grad.item()])
    run.table("adding-up", ["backward of 3w, call", "w.grad", "w.grad, zeroed before"], rows)
    for call, value, _ in rows:
        run.figure(f"4.9 gradient of 3w after call {call}", value, 3 * call, 3 * call, str(3 * call))
    graphs: list[list[Any]] = []
    for keep in (False, True):
        w: Any = torch.tensor(3.0, requires_grad=True)
        loss = w * w
        loss.backward(retain_graph=keep)
        try:
            loss.backward()
            second = "adds once more"
        except RuntimeError:
            second = "RuntimeError"
        graphs.append([f"retain_graph={keep}", second, w.grad.item()])
    run.table("second-backward", ["first backward of w * w, w = 3", "a second one", "w.grad"], graphs)
    run.look(
        "3, 6, 9: shared weights need it, and it is why every step of training begins with zero_grad(); what a graph"
        " has saved is gone after one backward, as on your tape",
        "3、6、9：共享的权重需要累加，所以每步训练都从 zero_grad() 开始；反向一次之后，图里存的东西就没了，和磁带一样",
    )
    run.figure("4.9 a second backward without a second forward pass fails", float(graphs[0][1] == "RuntimeError"), 1, 1)


def five_steps(run: Run) -> None:
    """The spiral once more, with Adam: as it should be, with a layer in a Python list, and without zero_grad."""
    import torch

    from .torch_basics_tools import SpiralNet, train

    points, arms = spiral(run.rng("spiral"))
    names = {
        "right": run.say("as it should be", "正确写法"),
        "list": run.say("hidden layer in a Python list", "隐藏层放在 Python 列表里"),
        "no zero_grad": run.say("no zero_grad()", "没有 zero_grad()"),
    }
    curves: dict[str, list[float]] = {}
    rows: list[list[Any]] = []
    for kind, label in names.items():
        torch.manual_seed(int(run.rng("net").integers(2**31)))
        model = SpiralNet(in_a_list=kind == "list")
        run.progress(label)
        curves[kind], right = train(model, points[:, :2], arms, ADAM_STEPS, zero=kind != "no zero_grad")
        losses = curves[kind]
        rows.append([kind, losses[0], losses[99], losses[399], losses[-1], right])
    run.table("spiral", ["", "loss at first", "step 100", "step 400", "step 800", "accuracy"], rows)
    run.look(
        "both mistakes raise no error: a hidden layer that is not trained is worth little more than none, and sums of"
        " old gradients lead astray",
        "两种错误都不报错：没被训练的隐藏层几乎等于没有，而旧梯度的累加把参数带偏",
    )
    run.figure("4.9 spiral with Adam: accuracy after 800 steps", rows[0][-1], 0.995, 1, "1.000")
    with run.picture("spiral") as drawn:
        if drawn is not None:
            axes = drawn.subplots()
            for (kind, losses), style in zip(curves.items(), ("-", "--", ":"), strict=True):
                axes.plot(range(1, ADAM_STEPS + 1), losses, style, marker="", label=names[kind])
            axes.set(xlabel=run.say("step", "步"), ylabel=run.say("loss (nats)", "损失（nat）"), yscale="log")
            axes.set_title(run.say("Two mistakes that raise no error", "两种不报错的错误"))
            axes.legend()


def memory(run: Run) -> None:
    """How much room parameters take, by your ``training_memory``."""
    from lm.answers import training_memory

    columns = ["model", "parameters", "bytes each", "GiB"]
    models = [
        ("7B, training with Adam", 7e9, 16, 104.31, "104"),
        ("GPT-3, float32", 175e9, 4, 651.93, "652"),
        ("GPT-3, float16", 175e9, 2, 325.96, "326"),
    ]
    rows: list[list[Any]] = [
        [name, f"{size:.3g}", each, round(float(training_memory(size, each)), 2)] for name, size, each, *_ in models
    ]
    rows.insert(0, ["your RNN-LM, float32", "11640", 4, float(training_memory(11_640, 4))])
    run.table("memory", columns, rows)
    run.look(
        "the largest GPU of GPT-3's year had 80 GB: its weights alone fill nine of them in float32, five in float16",
        "GPT-3 那一年最大的 GPU 是 80 GB：光是权重，float32 就要 9 块，float16 要 5 块",
    )
    for (name, *_, exact, lecture), row in zip(models, rows[1:], strict=True):
        run.figure(f"4.9 memory in GiB: {name}", row[3], exact, exact, lecture)


STEPS: list[Step] = [same_net, branches, hooks, inside_your_rnn, registered, adding_up, five_steps, memory]
