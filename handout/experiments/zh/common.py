"""What several experiments say."""

WORDS = {
    "truth": "真实分布",
    "so": "是",
    "right": "正确",
    "wrong": "错误",
    "equal": "相等",
    "model": "模型",
    "step": "步",
    "epoch": "轮",
    "loss": "损失",
    "accuracy": "准确率",
    "perplexity": "困惑度",
    "test perplexity": "测试集困惑度",
    "gradient": "梯度",
    "parameter": "参数",
    "parameters": "参数个数",
    "shape": "形状",
    "largest difference": "最大差",
    "ratio": "比值",
    "sentence": "句子",
    "sentences": "句数",
    "words": "词数",
    "predictions": "预测数",
    "test predictions": "测试集预测数",
    "train": "训练集",
    "val": "验证集",
    "test": "测试集",
    "count": "次数",
    "grammatical": "合语法",
    "opposite": "数相反",
    "same": "数相同",
    "random": "随机",
    "interpolated": "插值",
    "add-{}": "加 {}",
    "untrained": "未训练",
    "trained": "训练后",
    "inf": "无穷大",
    "about {}": "约 {}",
    "{}, lowest": "{}，最低",
    "{}, highest": "{}，最高",
}

SAME = """
Adam CE CrossEntropy GB GPT GiB Kneser LSTM Linear MB MLE Ney RNN SOTA Sigmoid Softmax W_hh W_hy W_xh WikiText alpha
b_h b_y beta b_alpha float32 float64 g_alpha g_beta gram lambda ms rho sigmoid softmax tanh tau unk float16
"""
