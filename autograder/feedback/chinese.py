"""The messages of this package in Chinese: pattern -> translation. ``language`` says how a pattern is read.

A hole keeps its name in the translation; what stands in it is translated, too.
"""

from __future__ import annotations

_VALUES = {
    "a number": "一个数",
    "a single number": "单个数",
    "a real number": "实数",
    "an array": "数组",
    "an integer": "整数",
    "a boolean": "布尔值",
    "a float": "浮点数",
    "a complex number": "复数",
    "integers": "整数",
    "booleans": "布尔值",
    "floats": "浮点数",
    "complex numbers": "复数",
    "a plain value": "普通的值",
    "a list or an array": "列表或数组",
    "True or False": "True 或 False",
    "a handle": "对象",
    "the result": "结果",
    "the gradient": "梯度",
    "an array of shape {shape}": "形状为 {shape} 的数组",
    "a tuple of {n} values": "含 {n} 个值的元组",
    "an object with the fields {x}": "带有字段 {x} 的对象",
    "a {name}": "{name}",
    "an {name}": "{name}",
    "the gradient of {where}": "{where} 的梯度",
}

_CHECKS = {
    "{where}: {text}": "{where}：{text}",
    "{text} (expected {x})": "{text}（应为 {x}）",
    "{what} at {path}": "{what} 的 {path}",
    "{text} at {index} ({n} of {m} entries)": "{text}（在 {index}，{m} 个元素中有 {n} 个）",
    "{text} at {index} ({n} of {m} entry)": "{text}（在 {index}，{m} 个元素中有 {n} 个）",
    "{what} should be finite": "{what} 应为有限的数",
    "{what} should be infinite": "{what} 应为无穷大",
    "{what} should be infinite with the other sign": "{what} 应为符号相反的无穷大",
    "{what} should not be NaN": "{what} 不应为 NaN",
    "{what} should be {wanted}, not {other}": "{what} 应为{wanted}，而不是 {other}",
    "{what} should be {wanted}, not of {n}": "{what} 应为{wanted}，而不是 {n} 个",
    "{what} should hold plain values only, not {other}": "{what} 里只应有普通的值，不应有 {other}",
    "{what} should hold {wanted}, not {other}": "{what} 里应为{wanted}，而不是{other}",
    "{what} should have shape {shape}, not {other}": "{what} 的形状应为 {shape}，而不是 {other}",
    "{what} should have {n} axes, not {m}": "{what} 应有 {n} 个轴，而不是 {m} 个",
    "{what} should have {n} axis, not {m}": "{what} 应有 {n} 个轴，而不是 {m} 个",
    "{what} has the wrong shape, {shape}": "{what} 的形状 {shape} 不对",
    "{text}: take the one entry out of it": "{text}：请取出其中唯一的元素",
    "{text}: it is transposed": "{text}：它被转置了",
    "{text}: compute in double precision": "{text}：请用双精度计算",
    "{what} has no field {x}": "{what} 没有字段 {x}",
    "{what}: wrong value": "{what}：值不对",
    "{what}: wrong value (got {x}, expected {y})": "{what}：值不对（得到 {x}，应为 {y}）",
    "{what}: too few entries": "{what}：元素太少",
    "{what}: too many entries": "{what}：元素太多",
    "{what}: too few entries ({n}, expected {m})": "{what}：元素太少（{n} 个，应为 {m} 个）",
    "{what}: too many entries ({n}, expected {m})": "{what}：元素太多（{n} 个，应为 {m} 个）",
    **{
        f"{{what}}: {{n}} {word} {verb}{such}": f"{{what}}：{said} {{n}} 个{thing}{such_zh}"
        for one, more, thing in (("key", "keys", "键"), ("member", "members", "成员"))
        for word, verb, said in (
            (one, "is missing", "缺少"),
            (more, "are missing", "缺少"),
            (one, "too many", "多出"),
            (more, "too many", "多出"),
        )
        for such, such_zh in (("", ""), (", such as {x}", "，例如 {x}"))
    },
    "{what}: {n} of {m} entries are wrong": "{what}：{m} 个元素中有 {n} 个不对",
    "{what}: {n} of {m} entries is wrong": "{what}：{m} 个元素中有 {n} 个不对",
    "{what}: {n} of {m} entry is wrong": "{what}：{m} 个元素中有 {n} 个不对",
    "{what} is wrong": "{what} 不对",
    "shape {shape} {name}, as expected": "形状 {shape}，类型 {name}，与要求一致",
    "worst at {index}    got {x}    expected {y}": "差得最多的在 {index}    得到 {x}    应为 {y}",
    "got {x}    expected {y}": "得到 {x}    应为 {y}",
    "error {number}, allowed {limit}": "误差 {number}，允许 {limit}",
    "error about {number}, allowed {limit}": "误差约 {number}，允许 {limit}",
    "relative error {number}, allowed {limit}": "相对误差 {number}，允许 {limit}",
    "relative error about {number}, allowed {limit}": "相对误差约 {number}，允许 {limit}",
    "every entry is {number} times what is expected": "每个元素都是应有值的 {number} 倍",
    "every entry has the wrong sign": "每个元素的符号都反了",
}

_ENDINGS = {
    "{name}.py cannot be imported: {text}": "{name}.py 无法导入：{text}",
    "{name}.py has no {x}: was it renamed or deleted?": "{name}.py 里没有 {x}：是改名了，还是删掉了？",
    "your code calls {x} (item {number}), which is not written yet": "你的代码调用了 {x}（第 {number} 题），它还没有写",
    "should raise {x}": "应当抛出 {x}",
    "this does not hold": "这一点不成立",
    "the test cannot work with what your code gave ({x})": "测试无法使用你的代码给出的结果（{x}）",
    "partial credit: {number} of this check": "部分得分：这项检查的 {number}",
    "{where}: returned {x}, expected {wanted}": "{where}：返回了 {x}，应为{wanted}",
    "{where}: returned {x}": "{where}：返回了 {x}",
    "your code: returned {x}": "你的代码返回了 {x}",
    "your code did not finish within {number} s": "你的代码在 {number} 秒内没有结束",
    "your code ended its process (os._exit, a crash, or too much memory)": (
        "你的代码结束了自己的进程（os._exit、崩溃或内存过多）"
    ),
    "your code ended its process (os._exit, a crash, ...)": "你的代码结束了自己的进程（os._exit、崩溃等）",
    "your code sent an invalid reply": "你的代码发来了无效的答复",
    "your code sent an invalid reply ({x})": "你的代码发来了无效的答复（{x}）",
    "not run: the item ended before": "没有运行：这一题在此之前已经终止",
    "{kind}: {text}": "{kind}：{text}",
    "{file}:{n} in {x}": "{file}:{n}，在 {x} 中",
    "(its message cannot be shown)": "（它的消息无法显示）",
    "{x} (a command that only notebooks have)": "{x}（只有 notebook 才有的命令）",
    "{x} (only notebooks have it)": "{x}（只有 notebook 里才有）",
    "input() is not available here: nobody is there to answer": "这里不能用 input()：没有人来回答",
    "breakpoint() is not available here: nobody sits at a debugger; take it out": (
        "这里不能用 breakpoint()：没有人在调试，请删掉它"
    ),
    "there is no more memory than this machine has": "内存用完了",
    "there is no more memory than {n} MiB": "内存最多 {n} MiB，已经用完",
    "torch is not allowed in this part": "这一部分不允许使用 torch",
}

_REFUSED = {
    "a value nested deeper than {n} levels": "嵌套超过 {n} 层的值",
    "a value of more than a million items": "超过一百万个元素的值",
    "a value larger than {n} MiB": "大于 {n} MiB 的值",
    "a text with lone surrogates": "含有孤立代理字符的文本",
    "an integer of more than {n} bits": "超过 {n} 位的整数",
    "a {x} of {n} entries": "含 {n} 个元素的 {x}",
    "more than {n} {x}s that hold an integer": "{n} 个以上含有整数的 {x}",
    "an array of dtype {x}": "dtype 为 {x} 的数组",
    "an array of {n} axes": "{n} 个轴的数组",
    "an array with an axis of length {n}": "某个轴长度为 {n} 的数组",
    "a {x} of more than 32 bits": "超过 32 位的 {x}",
    "a {x} nested deeper than {n} levels": "嵌套超过 {n} 层的 {x}",
    "a {x} of type {name}": "类型为 {name} 的 {x}",
    "a tensor of dtype {x}": "dtype 为 {x} 的张量",
    "a {x} tensor on {name}, expected a dense one on the CPU": "{name} 上的 {x} 张量，应为 CPU 上的稠密张量",
}

_STATES = {
    "passed": "通过",
    "failed": "未通过",
    "not started": "未开始",
    "unfinished": "未完成",
    "cannot import": "无法导入",
    "timeout": "超时",
    "grader error": "评分系统出错",
    "not run": "未运行",
    "skipped": "跳过",
    "waiting for {x}": "等待 {x}",
    "not started: {x}": "未开始：{x}",
    "as above: {text}": "同上：{text}",
    "skipped: torch is not installed (needed from part {x} on)": "跳过：没有安装 torch（从第 {x} 部分起需要）",
    "grader error (not your code): {x}": "评分系统出错（不是你的代码）：{x}",
    "hint: {text}": "提示：{text}",
}

_CARD = {
    "{n} of {m} checks": "{m} 项检查中 {n} 项通过",
    "all {n} checks pass": "全部 {n} 项检查通过",
    "all {n} local checks pass; grading uses new inputs, and most points are given only there": (
        "本地的 {n} 项检查全部通过；评分时用的是新的输入，大部分分数只在那里给出"
    ),
    'nothing is wrong: every function still says "not implemented"': "没有任何错误：每个函数都还写着“未实现”",
    "next: {number} {x}, in {file}": "下一步：{number} {x}，在 {file} 中",
}

_FRONT = {
    "local checks": "本地检查",
    "likely: {text}": "可能的原因：{text}",
    "again:  {x}": "再查一次：{x}",
    "as above": "同上",
    "start here:": "从这里开始：",
    "go on here:": "从这里继续：",
    "read:": "阅读：",
    "then run:": "然后运行：",
    "hand in:  {x}": "提交：{x}",
    "all {n} local checks pass; grading uses new inputs": "本地的 {n} 项检查全部通过；评分时用的是新的输入",
    "{n} of their {number} points are graded only there, on inputs that nobody has seen": (
        "这些题共 {number} 分，其中 {n} 分只在那里、用谁也没见过的输入给出"
    ),
    "interrupted": "被中断",
    "interrupted in {x}": "在 {x} 处被中断",
    "local checks: {n} of {m} pass": "本地检查：{m} 项中 {n} 项通过",
    "wrote {name} ({n} kB). Upload this file to Gradescope.": (
        "已写好 {name}（{n} kB）。请把这个文件上传到 Gradescope。"
    ),
    "left out: {x}": "没有放进去：{x}",
    "is empty": "是空的",
    "has {n} kB; at most {m} kB are taken": "有 {n} kB；最多只收 {m} kB",
    "is not there: its items get no points": "不在：相关的题目没有分数",
    "{number} kB, ok": "{number} kB，可以",
    "is not UTF-8 text: save it as UTF-8": "不是 UTF-8 文本：请存为 UTF-8",
    "line {n}: {text}": "第 {n} 行：{text}",
    "needs a newer Python than the grader's {number}": "需要比评分系统的 Python {number} 更新的版本",
    "{name}:{n}: imports {x}, another file of yours: items then hang together": (
        "{name}:{n}：导入了你自己的另一个文件 {x}：这样题目就互相牵连了"
    ),
    "{name}:{n}: write from .x import y, not from {x}.x import y": (
        "{name}:{n}：请写 from .x import y，而不是 from {x}.x import y"
    ),
    "{name}:{n}: imports {x}, which this assignment does without": "{name}:{n}：导入了 {x}，本作业不使用它",
    "note: your Python {number} is newer than the grader's may be: {k} must do, too": (
        "注意：你的 Python {number} 可能比评分系统的新：用 {k} 也必须能运行"
    ),
}

_ROWS = {
    "This item is waived: full points for everybody.": "这一题免做：所有人都得满分。",
    "{state}: {n} of {m} checks pass": "{state}：{m} 项检查中有 {n} 项通过",
    "Part of the grader could not be loaded, so this is not final: staff have been told.": (
        "评分系统有一部分无法载入，所以这不是最终结果：已经通知教师。"
    ),
    'not started: the function still says "not implemented"': "未开始：函数里还写着“未实现”",
    "The grader itself failed here. This is not your code's fault: staff have been told and will regrade.": (
        "评分系统在这里自己出错了。这不是你的代码的问题：已经通知教师，会重新评分。"
    ),
    "grader error, not your code": "评分系统出错，不是你的代码",
    "[x] {text}": "[x] {text}",
    "(hidden inputs)": "（隐藏的输入）",
    "({n} of {m} cases, hidden inputs)": "（{m} 种情形中的 {n} 种，隐藏的输入）",
    "(also on your machine: {x})": "（在你的机器上也一样：{x}）",
    "({n} of {m} cases, also on your machine: {x})": "（{m} 种情形中的 {n} 种，在你的机器上也一样：{x}）",
    "... and {n} more": "…… 还有 {n} 个",
    "{n} checks were not run": "{n} 项检查没有运行",
}

MESSAGES: dict[str, str] = {**_VALUES, **_CHECKS, **_ENDINGS, **_REFUSED, **_STATES, **_CARD, **_FRONT, **_ROWS}
