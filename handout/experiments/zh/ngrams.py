"""Experiment 1."""

WORDS = {
    "What the corpus looks like, and what its own distribution would score.": "语料的样子，以及真实分布自己的得分。",
    "split": "部分",
    "different": "不同的",
    "mean length": "平均长度",
    "true perplexity": "真实困惑度",
    "vocabulary": "词表大小",
    "mean length of a training sentence": "训练句的平均长度",
    "2.491 on its test set": "它的测试集上 2.491",
    "true perplexity, by formula": "真实困惑度，按公式",
    "true perplexity on test": "测试集上的真实困惑度",
    "true perplexity on train": "训练集上的真实困惑度",
    "different training sentences": "不同的训练句",
    "true samples found in train": "真实样本中出现在训练集里的比例",
    "The chain rule is an identity; the trigram is a model.": "链式法则是恒等式，三元模型只是模型。",
    "none: it is an identity": "没有：它是恒等式",
    "sentences for which the chain rule fails": "链式法则不成立的句子",
    "What the trigram makes of the probabilities that the chain rule has exactly.": (
        "链式法则精确给出的概率，在三元模型里变成多少。"
    ),
    "empirical": "经验概率",
    "trigram": "三元模型",
    "2 to 3.5": "2 至 3.5",
    "frequent short sentences, ratio": "高频短句的比值",
    "344 for one long sentence": "某个长句为 344",
    "sentences with one attractor, median ratio": "含一个干扰名词的句子，比值的中位数",
    'What follows "cows eat", and how often the cows only stand beside who eats.': (
        "“cows eat” 后面是什么；其中有多少次 cows 只是站在旁边。"
    ),
    "cows eat ...": "cows eat ...",
    "cows are the subject": "cows 是主语",
    "cows are an attractor": "cows 是干扰名词",
    "together": "合计",
    "cows eat": "cows eat 的次数",
    "cows eat, cows as an attractor": "cows eat，其中 cows 是干扰名词",
    "cows eat: corn before grass before hay before all others": "cows eat：corn、grass、hay 依次领先",
    "cows eat: foods of no cow that occur": "cows eat：出现过的、牛不吃的食物",
    "windows 'N prep the N' whose first N is an attractor": "窗口 “N prep the N” 中首个 N 是干扰名词的比例",
    "Maximum likelihood: one unseen n-gram makes the perplexity infinite.": (
        "最大似然：一个没见过的 n-gram 就让困惑度无穷大。"
    ),
    "entries": "条目",
    "unseen in test": "测试集中没见过的",
    "unigram test perplexity": "一元模型测试集困惑度",
    "bigram test perplexity": "二元模型测试集困惑度",
    "lost": "已缺失",
    "1 of about 23,000": "约 23,000 个中有 1 个",
    "unseen {}-grams in test": "测试集中没见过的 {}-gram",
    "unsmoothed trigram: infinite": "不平滑的三元模型：无穷大",
    "unsmoothed 4-, 5-, 6-gram: infinite": "不平滑的 4、5、6-gram 中无穷大的",
    "non-zero 6-gram entries": "非零的 6-gram 条目",
    "Add-one smoothing: finite, and worse with every order.": "加一平滑：不再无穷大，但高阶越来越差。",
    "add-1 trigram test perplexity": "加一平滑的三元模型测试集困惑度",
    "add-1 6-gram test perplexity": "加一平滑的 6-gram 测试集困惑度",
    "add-1: 6-gram worse than 5-gram worse than trigram": "加一平滑：6-gram 差于 5-gram，5-gram 差于三元模型",
    "Interpolation, a weight for each order, tuned on validation: the best that n-grams do here.": (
        "插值，每阶一个权重，在验证集上调：这里 n-gram 的最好成绩。"
    ),
    "nats a word above the truth": "每词比真实分布多多少 nat",
    "interpolated 6-gram test perplexity": "插值 6-gram 的测试集困惑度",
    "interpolated: the 6-gram is the best": "插值：6-gram 最好",
    "6-gram gap to truth, nats a word": "6-gram 与真实分布之差，nat/词",
    "The same lambda for all orders: then the highest order is not the best one.": (
        "所有阶共用一个 λ：这时最高阶不是最好的。"
    ),
    "lambda of all orders": "共用的 λ",
    "6; its lambdas are not told": "6；没有说明 λ",
    "one lambda for all orders: the best n": "共用一个 λ：最好的 n",
    "All perplexities in one picture.": "所有困惑度放在一张图里。",
    "MLE": "最大似然",
    "Subject and verb with k nouns in between, all of the other number, of the same, or of any.": (
        "主语和动词之间有 k 个名词：数全相反、全相同，或随机。"
    ),
    "attractors": "干扰名词",
    "agreement, n = {}, k = {} {}": "主谓一致，n = {}，k = {}，{}",
    "What unsmoothed models of each order say: grammar, agreement, and how much of it is learnt by heart.": (
        "各阶不平滑的模型说什么：语法、主谓一致，以及有多少是背下来的。"
    ),
    "of these agree": "其中主谓一致",
    "both": "两者都对",
    "copied from train": "照抄训练集",
    "never wrong": "从不出错",
    "n = {}, grammatical samples": "n = {}，合语法的样本",
    "n = {}, agreeing among the grammatical": "n = {}，合语法的样本中主谓一致的",
    "n = {}, copied samples": "n = {}，照抄的样本",
    "truth, grammatical and agreeing": "真实分布，合语法且一致",
    "truth, copied samples": "真实分布，训练集中有的样本",
}

SAME = ""
