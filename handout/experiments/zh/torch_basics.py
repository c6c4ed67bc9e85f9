"""Experiment 4, and the step of experiment 3 that needs PyTorch."""

WORDS = {
    "PyTorch, in float64, has the same gradients by all six parameters.": "PyTorch（float64）对六个参数的梯度都相同。",
    "largest gradient": "最大的梯度",
    "sentence: loss, tape against PyTorch": "句子：损失，磁带与 PyTorch 之差",
    "sentence: gradients, tape against PyTorch": "句子：梯度，磁带与 PyTorch 之差",
    "PyTorch's gradients of the small net are those of the formulas written out by hand.": (
        "PyTorch 给小网络的梯度，就是手写公式的梯度。"
    ),
    "small net: PyTorch against formulas": "小网络：PyTorch 与公式之差",
    "The graph is what the program did: another branch, another graph.": "计算图就是程序做过的事：分支不同，图就不同。",
    "recorded, the last first": "记录，从后往前",
    "branches: different graphs in two calls": "分支：两次调用中不同的图",
    "model(x) runs the hooks, model.forward(x) does not.": "model(x) 会执行钩子，model.forward(x) 不会。",
    "call": "调用",
    "hooks run": "执行的钩子",
    "hooks run by model(x)": "model(x) 执行的钩子",
    "hooks run by model.forward(x)": "model.forward(x) 执行的钩子",
    "What a tool sees that hangs a hook on each layer of your RNN language model.": (
        "给你的 RNN 语言模型每层挂一个钩子，能看到什么。"
    ),
    "layer": "层",
    "calls for 15 words": "15 个词的调用次数",
    "its last output": "最后一次输出",
    "all": "全部",
    "A plain tensor and a module in a Python list are no parameters: nobody trains, saves or converts them.": (
        "普通张量和 Python 列表里的模块都不是参数：没人训练、保存或转换它们。"
    ),
    "in __init__": "在 __init__ 中",
    "has a gradient": "有梯度",
    "moved by a step": "更新时变了",
    "float64 by double()": "double() 后是 float64",
    "yes": "是",
    "parameters found in a plain tensor": "普通张量中找到的参数",
    "parameters found in a Python list": "Python 列表中找到的参数",
    "tensors found of five that have gradients": "五个有梯度的张量中被找到的",
    "Gradients add up, and a graph serves one backward.": "梯度会累加；一张图只能反向一次。",
    "backward of 3w, call": "3w 的反向，第几次",
    "w.grad, zeroed before": "w.grad，先清零",
    "gradient of 3w after call {}": "第 {} 次之后 3w 的梯度",
    "first backward of w * w, w = 3": "w * w 第一次反向，w = 3",
    "a second one": "第二次",
    "adds once more": "又累加一次",
    "a second backward without a second forward pass fails": "不重新前向就第二次反向：报错",
    "The spiral once more, with Adam: as it should be, with a layer in a Python list, and without zero_grad.": (
        "再来一次螺旋，用 Adam：正确写法、层放在 Python 列表里、没有 zero_grad。"
    ),
    "loss at first": "最初的损失",
    "step {}": "第 {} 步",
    "list": "列表",
    "no zero_grad": "没有 zero_grad",
    "spiral with Adam: accuracy after 800 steps": "螺旋，用 Adam：800 步之后的准确率",
    "How much room parameters take, by your ``training_memory``.": "参数占多少内存，用你的 training_memory 计算。",
    "bytes each": "每个的字节数",
    "your RNN-LM, float32": "你的 RNN-LM，float32",
    "7B, training with Adam": "7B，用 Adam 训练",
    "memory in GiB: {}": "内存（GiB）：{}",
    "Bengio's model: V d + n d H + H V weights (lecture A, 3.2) and H + V biases.": (
        "Bengio 的模型：V d + n d H + H V 个权重（讲义 A，3.2）和 H + V 个偏置。"
    ),
    "{}: parameters": "{}：参数个数",
    "perplexity in training": "训练中的困惑度",
    "to tune": "调参部分",
    "{}: test perplexity of the excerpt": "{}：节选上的测试集困惑度",
    "fixed window": "固定窗口",
    "The vanilla RNN, with truncated BPTT.": "普通 RNN，用截断的 BPTT。",
    "The LSTM, in the same way.": "LSTM，训练方式相同。",
    "All perplexities so far, the highest first.": "到目前为止的所有困惑度，从高到低。",
    "What each model writes, all with the same random numbers.": "各模型写出的文本，随机数相同。",
    "sample": "样本",
    "The lecture's script for WikiText-2 (A.2): its size here; to train it is a command of its own.": (
        "讲义的 WikiText-2 脚本（A.2）：这里只看大小；训练它是单独的命令。"
    ),
    "the lecture's WikiText-2 LSTM: parameters": "讲义的 WikiText-2 LSTM：参数个数",
    "RNN and LSTM, before and after training.": "RNN 与 LSTM，训练前与训练后。",
    "state": "状态",
    "untrained: LSTM's cell / RNN's state, left at d = 18": "未训练：LSTM 单元 / RNN 状态，在 d = 18 处剩下的",
}

SAME = """
AccumulateGrad MulBackward0 ModuleList Parameter PyTorch RuntimeError SinBackward0 SumBackward0 buffer double False
forward grad nn ones register_buffer requires_grad retain_graph state_dict torch True __init__ model parameters
"""
