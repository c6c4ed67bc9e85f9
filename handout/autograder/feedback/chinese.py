"""The messages of this package in Chinese: pattern -> translation. ``language`` says how a pattern is read.

A hole keeps its name in the translation; what stands in it is translated, too, but for numbers, places, and ``{raw}``.
Blanks between Chinese and other letters are put in at the end. What tests say stands beside them, in words.zh.toml.
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
    "an object": "对象",
    "the result": "结果",
    "the gradient": "梯度",
    "an array of shape {shape}": "形状为 {shape} 的数组",
    "a tuple or list of {n} values": "含 {n} 个值的元组或列表",
    "an object with the fields {raw}": "带有字段 {raw} 的对象",
    "a {name}": "{name}",
    "an {name}": "{name}",
    "the gradient of {where}": "{where} 的梯度",
}

_CHECKS = {
    "{where}: {text}": "{where}：{text}",
    "{text} (expected {x})": "{text}（应为{x}）",
    "{what} at {path}": "{what}的 {path}",
    "{text} at {index} ({n} of {m} entries)": "{text}（在 {index}，{m} 个元素中有 {n} 个）",
    "{text} at {index} ({n} of {m} entry)": "{text}（在 {index}，{m} 个元素中有 {n} 个）",
    "{what} should be finite": "{what}应为有限的数",
    "{what} should be infinite": "{what}应为无穷大",
    "{what} should be infinite with the other sign": "{what}应为符号相反的无穷大",
    "{what} should not be NaN": "{what}不应为 NaN",
    "{what} should be {wanted}, not {other}": "{what}应为{wanted}，而不是{other}",
    "{what} should be {wanted}, not of {n}": "{what}应为{wanted}，而不是 {n} 个",
    "{what} should hold plain values only, not {other}": "{what}里只应有普通的值，不应有{other}",
    "{what} should hold {wanted}, not {other}": "{what}里应为{wanted}，而不是{other}",
    "{what} should have shape {shape}, not {other}": "{what}的形状应为 {shape}，而不是 {other}",
    "{what} should have {n} axes, not {m}": "{what}应有 {n} 个轴，而不是 {m} 个",
    "{what} should have {n} axis, not {m}": "{what}应有 {n} 个轴，而不是 {m} 个",
    "{what} has the wrong shape, {shape}": "{what}的形状 {shape} 不对",
    "{text}: take the one entry out of it": "{text}：请取出其中唯一的元素",
    "{text}: it is transposed": "{text}：它被转置了",
    "{text}: compute in double precision": "{text}：请用双精度计算",
    "{what} has no field {raw}": "{what}没有字段 {raw}",
    "{what}: wrong value": "{what}：值不对",
    "{what}: wrong value (got {x}, expected {y})": "{what}：值不对（得到{x}，应为{y}）",
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
        for such, such_zh in (("", ""), (", such as {raw}", "，例如 {raw}"))
    },
    "{what}: {n} of {m} entries are wrong": "{what}：{m} 个元素中有 {n} 个不对",
    "{what}: {n} of {m} entries is wrong": "{what}：{m} 个元素中有 {n} 个不对",
    "{what}: {n} of {m} entry is wrong": "{what}：{m} 个元素中有 {n} 个不对",
    "{what} is wrong": "{what}不对",
    "shape {shape} {name}, as expected": "形状 {shape}，类型 {name}，都符合要求",
    "worst at {index}    got {raw}    expected {raw2}": "差得最多的在 {index}    得到 {raw}    应为 {raw2}",
    "got {raw}    expected {raw2}": "得到 {raw}    应为 {raw2}",
    "error {number}, allowed {limit}": "误差 {number}，允许 {limit}",
    "error about {number}, allowed {limit}": "误差约 {number}，允许 {limit}",
    "error {number} of the largest entry, allowed {limit}": "误差为最大元素的 {number}，允许 {limit}",
    "error about {number} of the largest entry, allowed {limit}": "误差约为最大元素的 {number}，允许 {limit}",
    "relative error {number}, allowed {limit}": "相对误差 {number}，允许 {limit}",
    "relative error about {number}, allowed {limit}": "相对误差约 {number}，允许 {limit}",
    "every entry is {number} times what is expected": "每个元素都是应有值的 {number} 倍",
    "every entry has the wrong sign": "每个元素的符号都反了",
}

# What we say where Python says too little, after the name of an error.
_RAISED = {
    "torch is not allowed in this part": "这一部分不允许使用 torch",
    "input() is not available here: nobody is there to answer": "这里不能用 input()：没有人来回答",
    "breakpoint() is not available here: nobody sits at a debugger; take it out": (
        "这里不能用 breakpoint()：没有人在调试，请删掉它"
    ),
    "there is no more memory than this machine has": "内存用完了",
    "there is no more memory than {n} MiB": "内存最多 {n} MiB，已经用完",
    "(its message cannot be shown)": "（它的消息无法显示）",
    "{raw} (a command that only notebooks have)": "{raw}（只有 notebook 才有的命令）",
    "{raw} (only notebooks have it)": "{raw}（只有 notebook 里才有）",
    "{raw}": "{raw}",
}

_ENDINGS = {
    "{name}.py cannot be imported: {text}": "{name}.py 无法导入：{text}",
    "{name}.py cannot be imported: {text} (read by Python {raw})": (
        "{name}.py 无法导入：{text}（由 Python {raw} 读取）"
    ),
    "{name}.py has no {name2}: was it renamed or deleted?": "{name}.py 里没有 {name2}：是改名了，还是删掉了？",
    "your code calls {raw} (item {number}), which is not written yet": (
        "你的代码调用了 {raw}（第 {number} 题），它还没有写"
    ),
    "should raise {raw}": "应当抛出 {raw}",
    "this does not hold": "这一点不成立",
    "the test cannot work with what your code gave ({raw})": "测试无法使用你的代码给出的结果（{raw}）",
    "partial credit: {number} of this check": "部分得分：这项检查的 {number}",
    "returned {x}, expected {wanted}": "返回了{x}，应为{wanted}",
    "returned {x}": "返回了{x}",
    "returned a {raw} tensor on {name}, expected a dense one on the CPU": (
        "返回了 {name} 上的 {raw} 张量，应为 CPU 上的稠密张量"
    ),
    "{where}: returned {x}, expected {wanted}": "{where}：返回了{x}，应为{wanted}",
    "{kind}: returned {x}, expected {wanted}": "{kind}：返回了{x}，应为{wanted}",
    "{where}: returned {x}": "{where}：返回了{x}",
    "{where}: returned a {raw} tensor on {name}, expected a dense one on the CPU": (
        "{where}：返回了 {name} 上的 {raw} 张量，应为 CPU 上的稠密张量"
    ),
    "your code: {text}": "你的代码：{text}",
    "your code did not finish within {number} s": "你的代码在 {number} 秒内没有结束",
    "your code did not let the whole check finish within {number} s": "你的代码使整项检查在 {number} 秒内没有结束",
    "your code did not finish before the time for this item ({number} s) was used up": (
        "你的代码在这一题的时间（{number} 秒）用完之前没有结束"
    ),
    "your code did not finish before the time for the whole run ({number} s) was used up": (
        "你的代码在整个评分的时间（{number} 秒）用完之前没有结束"
    ),
    "your code ended its process (os._exit, a crash, or too much memory)": (
        "你的代码结束了自己的进程（os._exit、崩溃或内存过多）"
    ),
    "your code sent an invalid reply": "你的代码发来了无效的答复",
    "your code sent an invalid reply ({raw})": "你的代码发来了无效的答复（{raw}）",
    "not run: {n} checks of this item did not finish in time": "没有运行：这一题已有 {n} 项检查超时",
    "not run: the time for this item ({number} s) was used up before this check": (
        "没有运行：轮到这项检查之前，这一题的时间（{number} 秒）已经用完"
    ),
    "not run: the time for the whole run ({number} s) was used up before this check": (
        "没有运行：轮到这项检查之前，整个评分的时间（{number} 秒）已经用完"
    ),
    "{kind}: {raw}": "{kind}：{raw}",
    **{f"{{error}}: {text}": f"{{error}}：{said}" for text, said in _RAISED.items()},
    "{file}:{n} in {raw}": "{file}:{n}，在 {raw} 中",
}

_REFUSED = {
    "{text} (at {path})": "{text}（位于 {path}）",
    "a value nested deeper than {n} levels": "嵌套超过 {n} 层的值",
    "a value of more than a million items": "超过一百万个元素的值",
    "a value larger than {n} MiB": "大于 {n} MiB 的值",
    "a text with lone surrogates": "含有孤立代理字符的文本",
    "an integer of more than {n} bits": "超过 {n} 位的整数",
    "a {name} of {n} entries": "含 {n} 个元素的 {name}",
    "more than {n} {x}s that hold an integer": "超过 {n} 个含有整数的{x}",
    "an array of dtype {dtype}": "dtype 为 {dtype} 的数组",
    "an array of {n} axes": "{n} 个轴的数组",
    "an array with an axis of length {n}": "某个轴长度为 {n} 的数组",
    "a {x} of more than 32 bits": "超过 32 位的{x}",
    "a {x} nested deeper than {n} levels": "嵌套超过 {n} 层的{x}",
    "a {x} of type {name}": "类型为 {name} 的{x}",
    "dict key": "字典的键",
    "set member": "集合的成员",
    "a tensor of dtype {name}": "dtype 为 {name} 的张量",
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
    "waiting": "等待",
    "waiting for {raw}": "等待 {raw}",
    "not started: {raw}": "未开始：{raw}",
    "as above: {text}": "同上：{text}",
    "skipped: torch is not installed (needed from part {raw} on)": "跳过：没有安装 torch（从第 {raw} 部分起需要）",
    "grader error (not your code): {raw}": "评分系统出错（不是你的代码）：{raw}",
    "hint: {raw}": "提示：{raw}",
}

_CARD = {
    "{n} of {m} checks": "{m} 项检查中 {n} 项通过",
    "all {n} checks pass": "全部 {n} 项检查通过",
    "all {n} local checks pass; grading uses new inputs, and most points are given only there": (
        "本地的 {n} 项检查全部通过；评分时用的是新的输入，大部分分数只在那里给出"
    ),
    'nothing is wrong: every function still says "not implemented"': "没有任何错误：每个函数都还写着“未实现”",
    "next: {number} {raw}, in {file}": "下一步：{number} {raw}，在 {file} 中",
}

_FRONT = {
    "local checks": "本地检查",
    "likely: {raw}": "可能的原因：{raw}",
    "again:  {raw}": "再查一次：{raw}",
    "as above": "同上",
    "start here:": "从这里开始：",
    "go on here:": "从这里继续：",
    "read:": "阅读：",
    "then run:": "然后运行：",
    "hand in:  {raw}": "提交：{raw}",
    "all {n} local checks pass; grading uses new inputs": "本地的 {n} 项检查全部通过；评分时用的是新的输入",
    "they stand for {number} of {k} points; the rest is given in grading, on new inputs": (
        "它们相当于 {k} 分中的 {number} 分；其余的在评分时给出，用的是新的输入"
    ),
    "interrupted": "被中断",
    "interrupted in {raw}": "在 {raw} 处被中断",
    "local checks: {n} of {m} pass": "本地检查：{m} 项中 {n} 项通过",
    "wrote {name} ({n} kB). Upload this file to Gradescope.": (
        "已写好 {name}（{n} kB）。请把这个文件上传到 Gradescope。"
    ),
    "left out: {raw}": "没有放进去：{raw}",
    "is empty": "是空的",
    "has {n} kB; at most {m} kB are taken": "有 {n} kB；最多只收 {m} kB",
    "is not there: its items get no points": "不在：相关的题目没有分数",
    "{number} kB, ok": "{number} kB，可以",
    "is not UTF-8 text: save it as UTF-8": "不是 UTF-8 文本：请存为 UTF-8",
    "line {n}: {text}": "第 {n} 行：{text}",
    "needs a newer Python than the grader's {number}": "需要比评分系统的 Python {number} 更新的版本",
    "{name}:{n}: imports {raw}, another file of yours: items then hang together": (
        "{name}:{n}：导入了你自己的另一个文件 {raw}：这样题目就互相牵连了"
    ),
    "{name}:{n}: write from .x import y, not from {raw}.x import y": (
        "{name}:{n}：请写 from .x import y，而不是 from {raw}.x import y"
    ),
    "{name}:{n}: imports {raw}, which this assignment does without": "{name}:{n}：导入了 {raw}，本作业不使用它",
    "note: your Python {number} is newer than the grader's may be: {k} must do, too": (
        "注意：你的 Python {number} 可能比评分系统的新：用 {k} 也必须能运行"
    ),
    "there is nothing to hand in: no {raw}": "没有可提交的东西：没有 {raw}",
    "nothing to check": "没有可检查的东西",
    "nothing was checked: see the lines above": "什么也没有检查：请看上面几行",
    "no item {raw}; there are {raw2}": "没有 {raw} 这一题；有的是 {raw2}",
    "watching; Ctrl-C ends": "正在等待保存；按 Ctrl-C 结束",
}

_ROWS = {
    "This item is waived: full points for everybody.": "这一题免做：所有人都得满分。",
    "{state}: {n} of {m} checks pass": "{state}：{m} 项检查中 {n} 项通过",
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
    "(also on your machine: {raw})": "（在你的机器上也一样：{raw}）",
    "({n} of {m} cases, also on your machine: {raw})": "（{m} 种情形中的 {n} 种，在你的机器上也一样：{raw}）",
    "... and {n} more": "……还有 {n} 个",
    "{n} checks were not run": "{n} 项检查没有运行",
}

# Above the rows: what the grader received, and what it did not take.
_HEADING = {
    "Received {n} of {m} files. Python {raw}, numpy {raw2}. Run {name}. Graded in {number} s.": (
        "收到 {m} 个文件中的 {n} 个。Python {raw}，numpy {raw2}。编号 {name}。评分用了 {number} 秒。"
    ),
    "Graded in {number} s.": "评分用了 {number} 秒。",
    "The grader itself failed in part of this run. This is not your code's fault: staff have been told, and rows "
    "without a status will be graded again.": (
        "评分系统在这次运行中有一部分自己出错了。这不是你的代码的问题：已经通知教师，没有标明状态的行会重新评分。"
    ),
    "This run was cut short before its end. That is not your code's fault: rows without a status were not finished, "
    "and will be graded again.": (
        "这次运行没有结束就被中断了。这不是你的代码的问题：没有标明状态的行还没有评完，会重新评分。"
    ),
    "{name} began as a stub of version {name2}, graded is version {name3}: see what has changed in the handout.": (
        "{name} 来自 {name2} 版的框架，评分用的是 {name3} 版：请看 handout 里有什么变化。"
    ),
    "Nothing could be taken from the upload: {text}.": "上传的东西里什么也取不出来：{text}。",
    "nothing inside": "里面是空的",
    "neither a folder nor a zip archive": "既不是文件夹，也不是 zip 压缩包",
    "not a zip archive, or a damaged one": "不是 zip 压缩包，或者已经损坏",
    "holds too many files; at most {raw}": "文件太多；最多 {raw} 个",
    "not a path": "不是路径",
    "{name} was not handed in": "{name} 没有交",
    "{name} is {raw}; at most {raw2} are taken": "{name} 有 {raw}；最多只收 {raw2}",
    "is {raw}; at most {raw2} are taken": "有 {raw}；最多只收 {raw2}",
    "the files were looked for in {raw}/, the only folder inside": "文件是在 {raw}/ 里找的，那是里面唯一的文件夹",
    "{name} was handed in twice: {raw} counts, the one beside {raw2} does not": (
        "{name} 交了两份：{raw} 算数，{raw2} 旁边的那份不算"
    ),
    "{name} is missing; is it {raw}? The name must be exactly {name2}": (
        "缺少 {name}；是不是 {raw}？文件名必须恰好是 {name2}"
    ),
    "{name} is missing; there is one in {raw}/, where nobody looks for it": (
        "缺少 {name}；{raw}/ 里有一个，但不会去那里找"
    ),
    "{raw} was not used: {reason}": "没有使用 {raw}：{reason}",
    "{raw} and {raw2} were not used: {reason}": "没有使用 {raw} 和 {raw2}：{reason}",
    "{raw} and {n} more were not used: {reason}": "没有使用 {raw} 和另外 {n} 个：{reason}",
    "and {n} more": "还有 {n} 条",
    "{raw} was left out: its name leads out of the archive": "没有收 {raw}：它的名字指到压缩包外面去了",
    "{raw} was left out: it lies more than {n} folders deep": "没有收 {raw}：它在 {n} 层以上的文件夹里",
    "{raw} is in the archive twice: the last one counts": "{raw} 在压缩包里有两份：最后一份算数",
    "the folder {raw} cannot be read": "文件夹 {raw} 无法读取",
    "links are not followed": "不跟随链接",
    "the grader has its own": "评分系统用自己的",
    "it is not a regular file": "它不是普通文件",
    "the grader has settings of its own": "评分系统用自己的设置",
    "the grader's Python does not load it": "评分系统的 Python 不加载它",
    "compiled files and path files are never read": "编译过的文件和路径文件一律不读",
    "an archive inside a submission is not opened; hand in the files themselves": (
        "提交里面的压缩包不会打开；请直接交文件"
    ),
    "and on your machine it hides the library {name}; rename it": "而且在你的机器上它挡住了库 {name}；请改名",
}

# Why a file cannot be taken; its name stands before it.
_UNUSABLE = {
    "is empty": "是空的",
    "is a link; hand in the file itself": "是链接；请交文件本身",
    "is a folder, not a file": "是文件夹，不是文件",
    "is not a regular file": "不是普通文件",
    "cannot be read: {raw}": "无法读取：{raw}",
    "is encrypted; make the archive without a password": "加了密；请不带密码重新压缩",
    "is compressed in an unusual way; make an ordinary zip": "压缩方式不常见；请做成普通的 zip",
    "is damaged in the archive; make the zip again": "在压缩包里已经损坏；请重新压缩",
    "is a PDF document, not a Python file": "是 PDF 文档，不是 Python 文件",
    "is a zip archive or an office document, not a Python file": "是 zip 压缩包或 office 文档，不是 Python 文件",
    "is a gzip archive, not a Python file": "是 gzip 压缩包，不是 Python 文件",
    "is a rich text document; save it as plain text": "是富文本文档；请存为纯文本",
    "is UTF-16 text; save it as UTF-8": "是 UTF-16 文本；请存为 UTF-8",
    "is a web page; download the file itself (the raw file)": "是网页；请下载文件本身（raw 文件）",
    "is a Jupyter notebook; export it as a Python file (.py)": "是 Jupyter notebook；请导出为 Python 文件（.py）",
    "is not text: it has a NUL byte in line {n}": "不是文本：第 {n} 行有 NUL 字节",
    "is not UTF-8 text (line {n}); save it as UTF-8": "不是 UTF-8 文本（第 {n} 行）；请存为 UTF-8",
}

MESSAGES: dict[str, str] = {
    **_VALUES,
    **_CHECKS,
    **_ENDINGS,
    **_REFUSED,
    **_STATES,
    **_CARD,
    **_FRONT,
    **_ROWS,
    **_HEADING,
    **{f"{{name}} {text}": f"{{name}} {said}" for text, said in _UNUSABLE.items()},
}
