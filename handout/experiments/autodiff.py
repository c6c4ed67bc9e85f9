"""Automatic differentiation | 自动微分

The written-out net against finite differences, the same net in modules, the planted bug; what a difference is worth
by its step size; what a gradient costs forwards and backwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from lm import counting

from .autodiff_tools import differences, examples, modular_gradients, relative, small_net
from .run import Run, Step

POWERS = range(1, 14)  # step sizes 1e-1, .., 1e-13
SIZES = (10, 100, 1000)


def written_out(run: Run) -> None:
    """The lines of the backward pass against central differences, by step size."""
    from lm.gradcheck import numerical_gradient
    from lm.procedural import backward, forward

    x, y, alpha, beta = small_net(run)
    g_alpha, g_beta = backward(x, y, alpha, beta, forward(x, y, alpha, beta))
    rows, errors = [], {}
    for power in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12):
        eps = 10.0**-power
        errors[power] = (
            relative(g_alpha, numerical_gradient(lambda moved: forward(x, y, moved, beta).J, alpha, eps)),
            relative(g_beta, numerical_gradient(lambda moved: forward(x, y, alpha, moved).J, beta, eps)),
        )
        rows.append([f"1e-{power}", *errors[power]])
    run.table("written-out", ["step", "error of g_alpha", "error of g_beta"], rows)
    run.look(
        "Both gradients agree with the differences; what is left is the error of the differences.",
        "两个梯度都和有限差分吻合；剩下的是差分自己的误差。",
    )
    run.figure("B 5.5 written-out net, relative error of g_alpha", errors[6][0], 0, 1e-7, "4.5e-10")
    run.figure("B 5.5 written-out net, relative error of g_beta", errors[6][1], 0, 1e-7, "1.4e-10")


def in_modules(run: Run) -> None:
    """The same net out of modules gives the same gradients."""
    from lm.modules import Sigmoid
    from lm.procedural import backward, forward

    x, y, alpha, beta = small_net(run)
    written = backward(x, y, alpha, beta, forward(x, y, alpha, beta))
    modular, _ = modular_gradients(Sigmoid(), x, y, alpha, beta)
    apart = [float(np.abs(a - b).max()) for a, b in zip(written, modular, strict=True)]
    run.table("modules", ["gradient", "largest difference"], [["g_alpha", apart[0]], ["g_beta", apart[1]]])
    run.look(
        "Forward one module after the other, backward in the opposite order: the same numbers, but for rounding.",
        "前向依次调用各模块，反向倒序调用：除了舍入误差，结果相同。",
    )
    run.figure("B 5.6 modules against the written-out net", max(apart), 0, 1e-12, "0 (the same operations)")


def planted_bug(run: Run) -> None:
    """A sigmoid that forgets a factor: the whole net shows that something is wrong, the modules show what."""
    from lm.gradcheck import check_module, numerical_gradient
    from lm.modules import Sigmoid
    from lm.procedural import forward
    from lm.testing import ForgetfulSigmoid

    x, y, alpha, beta = small_net(run)
    numeric = (
        numerical_gradient(lambda moved: forward(x, y, moved, beta).J, alpha),
        numerical_gradient(lambda moved: forward(x, y, alpha, moved).J, beta),
    )
    rows, found = [], {}
    for name, sigmoid in (("right", Sigmoid()), ("forgetful", ForgetfulSigmoid())):
        gradients, layers = modular_gradients(sigmoid, x, y, alpha, beta)
        whole = [relative(got, wanted) for got, wanted in zip(gradients, numeric, strict=True)]
        rng = run.rng("upstream gradients")
        alone = [max(check_module(layer, layer.a, rng).values()) for layer in layers]
        found[name] = whole, alone
    (right, right_alone), (whole, alone) = found["right"], found["forgetful"]
    parts = ["Linear (alpha)", "Sigmoid", "Linear (beta)", "Softmax", "CrossEntropy"]
    rows += [["whole net: g_alpha", right[0], whole[0]], ["whole net: g_beta", right[1], whole[1]]]
    rows += [[f"module: {part}", a, b] for part, a, b in zip(parts, right_alone, alone, strict=True)]
    run.table("planted-bug", ["relative error of", "right sigmoid", "without the factor 1 - b"], rows)
    run.look(
        "The whole net says: somewhere before beta. One module after the other says: the sigmoid, and nothing else.",
        "整网检查只说：错误在 beta 之前的某处。逐模块检查则说：就是 Sigmoid，别处都对。",
    )
    run.figure("B 5.6 without a bug, largest error of all", max(*right, *right_alone), 0, 1e-6)
    run.figure("B 5.6 planted bug, whole net: error of g_alpha", whole[0], 0.05, 2, "wrong")
    run.figure("B 5.6 planted bug, whole net: error of g_beta", whole[1], 0, 1e-7, "right")
    wrong = [part for part, error in zip(parts, alone, strict=True) if error > 1e-4]
    run.figure("B 5.6 planted bug, modules that fail", len(wrong), 1, 1, "the sigmoid alone")
    run.figure("B 5.6 planted bug, the sigmoid fails", wrong == ["Sigmoid"], 1, 1, "so")


def step_size(run: Run) -> None:
    """The derivative of sin at 1 by differences: too large a step truncates, too small a step rounds."""
    errors = differences(POWERS)
    columns = [f"{kind} {dtype}" for kind, dtype in errors]
    table = [[f"1e-{power}", *row] for power, *row in zip(POWERS, *errors.values(), strict=True)]
    run.table("step-size", ["step", *columns], table)
    show_step_size(run, errors)
    run.look(
        "With smaller steps the formula gets better (slope 1 or 2), then rounding takes over; in float32 far too soon.",
        "步长变小，截断误差先按一次方或二次方下降，然后舍入误差回升；float32 早早就被舍入误差淹没。",
    )
    one, central, one32, central32 = (row[::2] for row in errors.values())  # the lecture's steps: 1e-1, 1e-3, ..
    run.figure("B ex. 5 slope of the one-sided error", math.log10(one[0] / one[1]) / 2, 0.95, 1.05, "1: O(eps)")
    run.figure("B ex. 5 slope of the central error", math.log10(central[0] / central[1]) / 2, 1.95, 2.05, "2: O(eps^2)")
    run.figure("B ex. 5 best one-sided, float64", min(one), 1e-8, 1e-7, "about 4e-8")
    run.figure("B ex. 5 best central, float64", min(central), 1e-13, 1e-10, "about 1e-11")
    run.figure("B ex. 5 best step for central, float64", 10.0 ** -(1 + 2 * int(np.argmin(central))), 1e-5, 1e-5, "1e-5")
    run.figure("B ex. 5 best of all, float32", min(*one32, *central32), 1e-6, 1e-4, "about 1e-5")
    blind = sum(abs(error - math.cos(1.0)) < 1e-12 for error in (*one32[4:], *central32[4:]))
    run.figure("B ex. 5 float32, differences of steps from 1e-9 down that are 0", blind, 6, 6, "all: error 0.54")


def show_step_size(run: Run, errors: dict[tuple[str, str], list[float]]) -> None:
    """Four error curves over the step size."""
    with run.picture("step-size") as figure:
        if figure is None:
            return
        axes = figure.add_subplot()
        kinds = {"one-sided": run.say("one-sided", "单侧"), "central": run.say("central", "中心")}
        for (kind, dtype), row in errors.items():
            axes.loglog([10.0**-power for power in POWERS], row, label=f"{kinds[kind]}, {dtype}")
        axes.set_xlabel(run.say("step size", "步长"))
        axes.set_ylabel(run.say("absolute error", "绝对误差"))
        axes.set_title(run.say("The derivative of sin at 1 by differences", "用有限差分求 sin 在 1 处的导数"))
        axes.legend()


def operation_counts(run: Run) -> None:
    """Operations for the gradient of sum sin(x_i) x_(i+1): n passes forwards, or one backwards."""
    rows, furthest = [], 0.0
    for n in SIZES:
        run.progress(f"counting operations, n = {n}")
        (one, forwards), (other, backwards) = gradients(run, n)
        furthest = max(furthest, *(abs(a - b) for a, b in zip(one, other, strict=True)))
        rows.append([n, forwards, 3 * n, backwards - 3 * n, backwards, forwards / backwards])
    run.table("operations", ["inputs", "forward mode", "reverse: there", "and back", "reverse mode", "ratio"], rows)
    with run.picture("operations") as figure:
        if figure is not None:
            axes = figure.add_subplot()
            axes.loglog(SIZES, [row[1] for row in rows], label=run.say("forward mode", "前向模式"))
            axes.loglog(SIZES, [row[4] for row in rows], label=run.say("reverse mode", "反向模式"))
            axes.set_xlabel(run.say("inputs n", "输入个数 n"))
            axes.set_ylabel(run.say("operations", "运算次数"))
            axes.set_title(run.say("What a gradient costs", "求一个梯度要多少次运算"))
            axes.legend()
    run.look(
        "n passes of 3n operations against 3n + 5n: the more inputs, the more the reverse mode saves.",
        "前向模式 n 遍、每遍 3n 次运算；反向模式共 3n + 5n 次：输入越多，反向模式省得越多。",
    )
    for n, row in zip(SIZES, rows, strict=True):
        run.figure(f"4.9 operations of the forward mode, n = {n}", row[1], 3 * n * n, 3 * n * n, "n * 3n")
        run.figure(f"4.9 operations of the reverse mode, n = {n}", row[4], 8 * n, 8 * n, "3n + 5n")
        run.figure(f"4.9 forward / reverse, n = {n}", row[5], 0.375 * n, 0.375 * n, "375" if n == 1000 else "")
    run.figure("4.9 largest difference of the two gradients", furthest, 0, 1e-12, "equal")


def gradients(run: Run, n: int) -> tuple[tuple[Sequence[float], int], tuple[Sequence[float], int]]:
    """The gradient and its number of operations, in both modes."""
    point = examples(run, n)
    return counting.by_forward_mode(point), counting.by_reverse_mode(point)


def dual_numbers(run: Run) -> None:
    """Your own forward mode on the same function: as many passes as inputs, the same gradient."""
    from lm.forward_mode import Dual, gradient, sin

    rows, furthest = [], 0.0
    for n in SIZES[:2]:
        calls = 0

        def cyclic(x: list[Dual]) -> Dual | float:
            nonlocal calls
            calls += 1
            total: Dual | float = 0.0
            for a, b in zip(x, [*x[1:], *x[:1]], strict=True):
                total = total + sin(a) * b
            return total

        point = examples(run, n)
        got, wanted = gradient(cyclic, point), counting.by_reverse_mode(point)[0]
        apart = float(np.abs(got - np.array(wanted)).max())
        rows.append([n, calls, apart])
        furthest = max(furthest, apart)
    run.table("dual-numbers", ["inputs", "passes", "difference to reverse mode"], rows)
    run.look(
        "One pass gives the derivative by one input: exact, but a pass for each.",
        "一遍只得到对一个输入的导数：精确，但每个输入都要跑一遍。",
    )
    for n, row in zip(SIZES, rows, strict=False):
        run.figure(f"B 5.4 passes of dual numbers, n = {n}", row[1], n, n, "n")
    run.figure("B 5.4 dual numbers against reverse mode", furthest, 0, 1e-12, "equal")


STEPS: list[Step] = [written_out, in_modules, planted_bug, step_size, operation_counts, dual_numbers]
