"""Experiment 3."""

WORDS = {
    "The small net on a tape has the gradients of the formulas written out by hand.": (
        "磁带上的小网络，梯度与手写公式相同。"
    ),
    "recorded": "记录了什么",
    "nodes": "节点数",
    "left": "剩下",
    "loss: difference": "损失之差",
    "gradients: difference": "梯度之差",
    "linear, sigmoid, linear, {}": "线性、sigmoid、线性、{}",
    "small net: nodes on the tape": "小网络：磁带上的节点",
    "small net: nodes left after backward": "小网络：反向之后剩下的节点",
    "small net: tape against formulas": "小网络：磁带与公式之差",
    "The tape trains a net on the spiral; a linear classifier cannot learn it.": (
        "磁带训练一个网络学会螺旋；线性分类器学不会。"
    ),
    "right before its step": "更新前的正确率",
    "right after the epoch": "本轮之后的正确率",
    "no hidden layer": "没有隐藏层",
    "spiral: loss in epoch {}": "螺旋：第 {} 轮的损失",
    "spiral: accuracy in epoch 1": "螺旋：第 1 轮中的准确率",
    "spiral: accuracy after epoch 100": "螺旋：100 轮之后的准确率",
    "spiral: accuracy without a hidden layer": "螺旋：没有隐藏层的准确率",
    "A sentence on the tape: 136 nodes, and the gradient of a shared matrix is the sum over its uses.": (
        "磁带上的一句话：136 个节点；共享矩阵的梯度是各次使用之和。"
    ),
    "reads": "读入",
    "norm of its part of the gradient by W_hh": "它那份 W_hh 梯度的范数",
    "sum of all": "总和",
    "sentence: nodes on the tape": "句子：磁带上的节点",
    "sentence: nodes left after backward": "句子：反向之后剩下的节点",
    "sentence: gradient by W_hh against the sum of its 15 parts": "句子：W_hh 的梯度与 15 份之和的差",
    "With ``=`` in place of ``+=`` all six gradients are wrong, and nothing is learned.": (
        "把 += 写成 =：六个梯度全错，什么也学不到。"
    ),
    "uses": "使用次数",
    "relative error": "相对误差",
    "small net, {}": "小网络，{}",
    "sentence, {}": "句子，{}",
    ".56 to 1.0": "0.56 至 1.0",
    "overwritten: smallest error of the six gradients": "覆盖：六个梯度中最小的误差",
    "overwritten: error of W_hh": "覆盖：W_hh 的误差",
    "added: rows of E with a gradient": "累加：E 中有梯度的行",
    "overwritten: rows of E with a gradient": "覆盖：E 中有梯度的行",
    "What 80 steps of gradient descent make of the one sentence, with right and with overwritten gradients.": (
        "对这一句话做 80 步梯度下降：正确的梯度与被覆盖的梯度。"
    ),
    "loss, added": "损失，累加",
    "loss, overwritten": "损失，覆盖",
}

SAME = ""
