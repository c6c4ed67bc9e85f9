"""Experiment 7."""

WORDS = {
    "Which text it is, and how much of it.": "用的是哪个文本，有多少。",
    "the bundled excerpt of Shakespeare's Coriolanus, held out: the last tenth of it": (
        "附带的莎士比亚《科利奥兰纳斯》节选，留出最后十分之一"
    ),
    "NLTK's Reuters corpus, held out: the last tenth of it": "NLTK 的 Reuters 语料，留出最后十分之一",
    "{}, held out: the last tenth of it": "{}，留出最后十分之一",
    "{}, held out: {}": "{}，留出：{}",
    "{} through datasets, held out: its validation part": "{}（通过 datasets），留出它的 validation 部分",
    "NLTK is not installed": "没有安装 NLTK",
    "datasets is not installed": "没有安装 datasets",
    "NLTK has no Reuters data here: nltk.download('reuters') and nltk.download('punkt_tab') fetch it": (
        "NLTK 这里没有 Reuters 数据：nltk.download('reuters') 与 nltk.download('punkt_tab') 可以下载"
    ),
    "datasets has no data here: datasets.load_dataset{} fetches it": (
        "datasets 这里没有数据：datasets.load_dataset{} 可以下载"
    ),
    "plain": "普通文本",
    "part": "部分",
    "tune": "调参",
    "Sentences from unsmoothed n-grams, and why their perplexity is infinite (lecture A, 2.5).": (
        "不平滑的 n-gram 写的句子，以及困惑度为什么无穷大（讲义 A，2.5）。"
    ),
    "order": "阶数",
    "copied": "照抄",
    "sample": "样本",
    "unseen trigrams": "没见过的三元组",
    "Add-k: the cure that lecture A, 2.3 calls too crude.": "加 k：讲义 A 2.3 说太粗糙的办法。",
    "adding is too crude": "加法太粗糙",
    "add-1: trigram perplexity over bigram perplexity": "加一：三元困惑度 / 二元困惑度",
    "Interpolation, its weights by EM on text that was neither counted nor tested on.": (
        "插值，权重用 EM 在既不计数也不测试的文本上求。"
    ),
    "interpolated by EM": "EM 插值",
    "{}-gram, {}": "{}-gram，{}",
    "Kneser-Ney, interpolated.": "Kneser-Ney，插值形式。",
    "until today the SOTA of n-grams": "至今是 n-gram 的 SOTA",
    "Kneser-Ney is the best trigram model": "Kneser-Ney 是最好的三元模型",
    "Stupid backoff gives scores, no probabilities: so the models are asked to sort all words.": (
        "stupid backoff 给出的是分数，不是概率：所以让各模型给所有词排序。"
    ),
    "trigram model": "三元模型",
    "median rank": "名次中位数",
    "% in the first 10": "前 10 名的 %",
    "mean 1 / rank": "1 / 名次 的均值",
    "stupid backoff": "stupid backoff",
    "All of the text, orders 1 to 6, as sorted integers; then the dictionaries beside them.": (
        "全部文本，1 到 6 阶，存成排好序的整数；旁边是字典。"
    ),
    "n-grams": "n-gram 数",
    "% seen once": "只见过一次的 %",
    "% of test unseen": "测试集中没见过的 %",
    "test trigrams unseen, %": "测试集中没见过的三元组，%",
    "trigram counts that differ: dictionaries, arrays": "字典与数组不同的三元计数",
}

SAME = ""
