"""Experiment 2."""

WORDS = {
    "The lines of the backward pass against central differences, by step size.": (
        "逐行写出的反向传播与中心差分的比较，按步长。"
    ),
    "error of {}": "{} 的误差",
    "written-out net, relative error of {}": "逐行写出的网络，{} 的相对误差",
    "The same net out of modules gives the same gradients.": "用模块搭出的同一个网络给出同样的梯度。",
    "0 (the same operations)": "0（运算相同）",
    "modules against the written-out net": "模块与逐行写出的网络之差",
    "A sigmoid that forgets a factor: the whole net shows that something is wrong, the modules show what.": (
        "漏了一个因子的 sigmoid：整网检查知道有错，逐模块检查知道错在哪里。"
    ),
    "relative error of": "相对误差",
    "right sigmoid": "正确的 sigmoid",
    "without the factor 1 - b": "漏了因子 1 - b",
    "whole net: {}": "整网：{}",
    "module: {}": "模块：{}",
    "without a bug, largest error of all": "没有 bug 时的最大误差",
    "planted bug, whole net: error of {}": "埋入的 bug，整网：{} 的误差",
    "the sigmoid alone": "只有 sigmoid",
    "planted bug, modules that fail": "埋入的 bug，没通过的模块数",
    "planted bug, the sigmoid fails": "埋入的 bug，没通过的是 sigmoid",
    "The derivative of sin at 1 by differences: too large a step truncates, too small a step rounds.": (
        "用差分求 sin 在 1 处的导数：步长太大有截断误差，太小有舍入误差。"
    ),
    "one-sided {}": "单侧 {}",
    "central {}": "中心 {}",
    "1: O(eps)": "1：O(eps)",
    "2: O(eps^2)": "2：O(eps^2)",
    "slope of the one-sided error": "单侧差分误差的斜率",
    "slope of the central error": "中心差分误差的斜率",
    "best one-sided, float64": "单侧差分最好，float64",
    "best central, float64": "中心差分最好，float64",
    "best step for central, float64": "中心差分的最好步长，float64",
    "best of all, float32": "最好的，float32",
    "all: error 0.54": "全部：误差 0.54",
    "float32, differences of steps from 1e-9 down that are 0": "float32，步长不大于 1e-9 时等于 0 的差分",
    "Operations for the gradient of sum sin(x_i) x_(i+1): n passes forwards, or one backwards.": (
        "求 sum sin(x_i) x_(i+1) 的梯度要多少次运算：前向模式 n 遍，或者反向一遍。"
    ),
    "inputs": "输入个数",
    "forward mode": "前向模式",
    "reverse: there": "反向模式：去",
    "and back": "回",
    "reverse mode": "反向模式",
    "operations of the forward mode, n = {}": "前向模式的运算次数，n = {}",
    "operations of the reverse mode, n = {}": "反向模式的运算次数，n = {}",
    "forward / reverse, n = {}": "前向 / 反向，n = {}",
    "largest difference of the two gradients": "两个梯度的最大差",
    "Your own forward mode on the same function: as many passes as inputs, the same gradient.": (
        "用你自己的前向模式算同一个函数：有多少输入就跑多少遍，梯度相同。"
    ),
    "passes": "遍数",
    "difference to reverse mode": "与反向模式之差",
    "passes of dual numbers, n = {}": "对偶数的遍数，n = {}",
    "dual numbers against reverse mode": "对偶数与反向模式之差",
}

SAME = ""
