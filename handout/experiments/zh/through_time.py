"""Experiment 6."""

WORDS = {
    "Untrained: what is left of the gradient, d steps back.": "未训练：往回 d 步，梯度还剩多少。",
    "steps back": "往回的步数",
    "gradient left": "剩下的梯度",
    "untrained: spectral radius": "未训练：谱半径",
    "untrained: left at d = 18": "未训练：d = 18 处剩下的",
    "untrained: left of each step": "未训练：每步剩下的",
    "W_hh of the untrained net times 1, 2 and 4, with tanh and without.": (
        "未训练网络的 W_hh 乘以 1、2、4，有 tanh 与没有 tanh。"
    ),
    "W_hh times": "W_hh 的倍数",
    "spectral radius rho": "谱半径 rho",
    "left without tanh": "没有 tanh 时剩下的",
    "left with tanh": "有 tanh 时剩下的",
    "mean of 1 - h^2": "1 - h^2 的均值",
    "times 4: rho / rho of times 1": "4 倍：rho / 1 倍的 rho",
    "the same order": "同一个数量级",
    "times 4: that / rho^18": "4 倍：它 / rho^18",
    "five orders": "五个数量级",
    "times 4: without / with tanh": "4 倍：没有 tanh / 有 tanh",
    "times {}: left without tanh": "{} 倍：没有 tanh 时剩下的",
    "times {}: left with tanh": "{} 倍：有 tanh 时剩下的",
    "times {}: mean of 1 - h^2": "{} 倍：1 - h^2 的均值",
    "The same before and after training, and a picture.": "训练前后的比较，附图。",
    "trained / untrained, left at d = 18": "训练后 / 未训练，d = 18 处剩下的",
    "trained: left at d = 18": "训练后：d = 18 处剩下的",
    "trained: left of each step": "训练后：每步剩下的",
    "left of each step": "每步剩下的",
    "Perplexity after true words, after words of the model's own, and what that does and does not show.": (
        "读真实的词、读模型自己写的词之后的困惑度：它说明什么，不说明什么。"
    ),
    "the model reads": "模型读",
    "perplexity of the test sentences": "测试句的困惑度",
    "the sentence itself": "句子本身",
    "words that it wrote": "自己写的词",
    "another true sentence": "另一个真实句子",
    "after": "读完",
    "of the truth": "真实分布的",
    "KL, nats a word": "KL，nat/词",
    "sentences outside the language": "不属于这个语言的句子",
    "true words": "真实的词",
    "perplexity rolled out / teacher-forced": "困惑度：自己续写 / 读真实的词",
    "the same / with another true sentence": "同上 / 读另一个真实句子",
    "KL after its own words / after true ones": "KL：读自己的词 / 读真实的词",
}

SAME = "KL"
