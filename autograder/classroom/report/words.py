"""What the page says, in English and Chinese: key -> (English, Chinese). ``{holes}`` are filled with HTML that is safe.

Each key has both, so that the two pages say the same; where English tells one from many, a key ends in "1".
"""

from __future__ import annotations

LANGUAGES = ("en", "zh")

WORDS: dict[str, tuple[str, str]] = {
    "report": ("Report on a graded class", "班级评分报告"),
    "version": ("assignment version {version}", "作业版本 {version}"),
    "anonymous": ("students are numbered, without names", "学生以编号代替姓名"),
    "named": ("with names: not for publication", "含姓名：请勿公开"),
    "contents": ("Contents", "目录"),
    "points": ("points", "分数"),
    "students": ("students", "学生数"),
    "submissions": ("submissions", "提交数"),
    "student": ("student", "学生"),
    "item": ("Item", "题目"),
    "of": ("{n} of {m}", "{m} 中的 {n}"),
    "n students": ("{n} students", "{n} 名学生"),
    "n students1": ("{n} student", "{n} 名学生"),
    "n submissions": ("{n} submissions", "{n} 份提交"),
    "n submissions1": ("{n} submission", "{n} 份提交"),
    "n items": ("{n} items", "{n} 道题"),
    "n items1": ("{n} item", "{n} 道题"),
    "n tests": ("{n} tests", "{n} 项测试"),
    "n tests1": ("{n} test", "{n} 项测试"),
    "page": ("writeup", "讲义"),
    # sections
    "broken": ("Is anything broken?", "作业有没有问题？"),
    "distribution": ("Scores", "分数分布"),
    "items": ("Items", "各题"),
    "mistakes": ("Known mistakes", "已知错误"),
    "progress": ("Progress over submissions", "多次提交的进展"),
    "reliability": ("Reliability", "信度"),
    "class": ("Students", "学生"),
    "method": ("Method", "方法"),
    # states
    "state passed": ("passed", "通过"),
    "state unfinished": ("unfinished", "未完成"),
    "state failed": ("failed", "未通过"),
    "state timeout": ("timeout", "超时"),
    "state cannot import": ("cannot import", "无法导入"),
    "state waiting": ("waiting for another item", "等待另一题"),
    "state not started": ("not started", "未开始"),
    "state grader error": ("no verdict", "没有结论"),
    # what became of a submission
    "status graded": ("graded", "已评分"),
    "status refused": ("refused", "未被接收"),
    "status failed": ("grader failed", "评分系统出错"),
    "status not graded": ("not graded yet", "尚未评分"),
    "status not handed in": ("not handed in", "未提交"),
    # 1
    "fault n": ("{n} to repair", "{n} 处需要修复"),
    "look n": ("{n} to look at", "{n} 处需要查看"),
    "nothing": ("Nothing looks broken.", "没有发现问题。"),
    "nothing to judge": (
        "Nobody has handed in a submission that was graded: there is nothing to judge.",
        "没有任何已评分的提交：无从判断。",
    ),
    "checked": ("Looked for, and not found:", "已检查，没有发现："),
    "unjudged": ("Not judged, with fewer than {n} submissions:", "提交少于 {n} 份，未作判断："),
    "repair": ("repair", "修复"),
    "look": ("look", "查看"),
    "find grader": ("The grader failed", "评分系统出错"),
    "about grader": (
        "No verdict, and no fault of the students': repair the tests of these items, then regrade.",
        "没有结论，也不是学生的错：请修好这些题的测试，再重新评分。",
    ),
    "find ungraded": ("Not graded yet", "尚未评分"),
    "about ungraded": (
        "There is no result for what was handed in: finish the regrade.",
        "已经提交，但没有结果：请把重新评分做完。",
    ),
    "find nobody": ("Nobody gets full points", "没有人得满分"),
    "about nobody": (
        "Often the test asks for something that the text does not say. Grade the published solution.",
        "常见原因：测试要求了讲义没有写的东西。请用公布的参考解答评一次分。",
    ),
    "find test": ("A test that nobody passes", "没有人通过的测试"),
    "about test": (
        "Others of the same item pass, so look at what this one asks for.",
        "同一题的其他测试有人通过，请看看这一项要求的是什么。",
    ),
    "find gap": ("Local tests pass, hidden ones fail", "本地测试通过，隐藏测试未通过"),
    "about gap": (
        "At least {share} of those who pass all local tests lose points in the hidden ones: make the local tests sharper.",
        "通过全部本地测试的人中，至少 {share} 在隐藏测试里丢分：请让本地测试更严格。",
    ),
    "find negative": ("Strong students lose, weak ones win", "强者失分，弱者得分"),
    "about negative": (
        "The item goes against the sum of all others: a right solution may be refused, or a wrong one accepted.",
        "这一题与其余各题的总分方向相反：可能拒绝了正确的解答，或接受了错误的解答。",
    ),
    "find late": ("Time-outs", "超时"),
    "about late": (
        "An endless loop, or a limit that is too tight: compare with what the reference takes.",
        "可能是死循环，也可能是时间限制太紧：请与参考解答所用的时间比较。",
    ),
    "find refused": ("Refused submissions", "未被接收的提交"),
    "about refused": (
        "Nothing could be taken from the upload, which scores 0: a wrong file, most often. Write to them.",
        "上传的内容里没有可用的文件，记 0 分：多半是传错了文件。请联系他们。",
    ),
    "find everybody": ("Everybody gets full points", "人人得满分"),
    "about everybody": (
        "A gift, or a test that accepts anything: try it with a stub.",
        "可能是送分题，也可能是什么都接受的测试：请用空白的函数试一次。",
    ),
    "said": ("What they were told", "他们看到的说明"),
    # 2
    "mean": ("mean", "平均分"),
    "median": ("median", "中位数"),
    "sd": ("standard deviation", "标准差"),
    "quartiles": ("quartiles", "四分位数"),
    "range": ("lowest, highest", "最低分，最高分"),
    "with score": ("students with a score", "有分数的学生"),
    "histogram": ("How many students have how many points", "各分数段的学生人数"),
    "out of": (
        "Out of {points} points; bonus and waived items count as on the platform.",
        "满分 {points} 分；附加题和免做题按平台的算法计入。",
    ),
    "by part": ("By part", "各部分"),
    "part": ("Part", "部分"),
    "part mean": ("mean share of its points", "平均得分率"),
    "part note": ("Graded submissions; waived items are left out.", "只计已评分的提交；不含免做题。"),
    "no scores": ("Nobody has a score.", "没有任何人有分数。"),
    # 3
    "difficulty": ("Difficulty", "难度"),
    "full": ("Full points", "满分率"),
    "discrimination": ("Discrimination", "区分度"),
    "lost": ("Points lost", "失分"),
    "lost share": ("of all lost", "占全部失分"),
    "states": ("States", "状态"),
    "gap": ("Local only", "仅本地通过"),
    "flags": ("Flags", "标记"),
    "flag easy": ("too easy", "太容易"),
    "flag hard": ("too hard", "太难"),
    "flag negative": ("negative", "负区分度"),
    "flag gap": ("hidden fails", "隐藏测试未过"),
    "bonus": ("bonus", "附加题"),
    "waived": ("waived", "免做"),
    "scatter": ("Items by difficulty and discrimination", "各题的难度与区分度"),
    "scatter note": (
        "Difficulty 1 is an item that everybody solves. Open circles: items with a flag.",
        "难度 1 表示人人都会。空心圆是有标记的题。",
    ),
    "items how": (
        "Difficulty: mean part of the points. Discrimination: correlation with the sum of the other items, from −1 to 1; "
        "above 0.2 is usual. Points lost: mean a submission. Local only: submissions that pass all local tests and fail "
        "a hidden one. Click a heading to sort.",
        "难度：平均得分率。区分度：与其余各题总分的相关系数，从 −1 到 1，通常高于 0.2。失分：每份提交的平均值。"
        "仅本地通过：通过全部本地测试、却没有通过某项隐藏测试的提交。点击表头可以排序。",
    ),
    "why few": ("fewer than 3 submissions", "提交少于 3 份"),
    "why constant": ("all have the same score", "所有人得分相同"),
    "why constant rest": ("all other items together are the same for all", "其余各题的总分人人相同"),
    "why no others": ("there is no other item", "没有其他题"),
    "why waived": ("waived: everybody gets the points", "免做：人人得分"),
    "why none": ("no submission with a verdict", "没有得出结论的提交"),
    "why bonus": ("bonus: nobody has to", "附加题：可以不做"),
    # 4
    "mistakes none": ("No hint was shown to anybody.", "没有任何人看到提示。"),
    "mistakes top": ("The most frequent", "最常见的"),
    "mistakes each": ("Item by item", "逐题"),
    "hint": ("Hint that they were shown", "他们看到的提示"),
    "mistake": ("Mistake", "错误"),
    "share": ("of those astray", "占出错者"),
    "astray": (
        "{n} went astray, {unknown} of them with no known mistake",
        "{n} 名学生出错，其中 {unknown} 名的错误不在目录里",
    ),
    "mistakes how": (
        "Students whose code ran and was wrong; each counts once for a hint, and may have been shown several.",
        "这里计代码能运行但结果不对的学生；每人对每条提示只计一次，一人可能看到多条。",
    ),
    # 5
    "tries": ("Median and quartiles of each submission", "每次提交的中位数与四分位数"),
    "submission": ("submission", "第几次提交"),
    "times": ("times handed in", "提交次数"),
    "how many": ("submissions", "份数"),
    "with n": ("with a score", "有分数的份数"),
    "gain": (
        "{n} were handed in at least twice with a score: from a mean of {first} to {last}; {rose} rose, {same} stayed, {fell} fell.",
        "{n} 份至少有两次分数：平均分从 {first} 到 {last}；上升 {rose}，不变 {same}，下降 {fell}。",
    ),
    "no progress": ("Nobody has two submissions with a score.", "没有人有两次带分数的提交。"),
    "progress how": (
        "Whoever hands in a fifth time is not like everybody: columns are of different students.",
        "会提交第五次的人与其他人不同：各列不是同一批学生。",
    ),
    "or more": ("{n} or more", "{n} 次及以上"),
    # 6
    "alpha": ("Cronbach's alpha", "Cronbach α 系数"),
    "interval": ("95 % interval", "95 % 区间"),
    "error": ("standard error of measurement", "测量标准误"),
    "stands on": ("stands on", "依据"),
    "error points": ("{n} points", "{n} 分"),
    "alpha is": ("Alpha {value}, 95 % interval from {low} to {high}", "α = {value}，95 % 区间 {low} 到 {high}"),
    "alpha how": (
        "How alike the items rank students. From 0.8 on, differences between students are mostly no accident of the choice "
        "of items; about two in three scores lie within one standard error of what many such assignments would give.",
        "各题对学生排序的一致程度。达到 0.8 时，学生之间的差别大多不是选题的偶然；"
        "约三分之二的分数，离多次同类作业会给出的分数不超过一个标准误。",
    ),
    "alpha few": ("No alpha: fewer than two complete submissions.", "没有 α：完整的提交少于两份。"),
    "alpha items": ("No alpha: fewer than two items count.", "没有 α：计入的题少于两道。"),
    "alpha constant": ("No alpha: all totals are the same.", "没有 α：所有总分相同。"),
    # 7
    "name": ("Name", "姓名"),
    "email": ("Email", "邮箱"),
    "handle": ("Submission", "提交"),
    "number": ("Student {n}", "学生 {n}"),
    "status": ("Status", "状态"),
    "total": ("Points", "分数"),
    "percent": ("%", "%"),
    "handed": ("Times", "次数"),
    "by item": ("Items, in order", "各题，按顺序"),
    "filter": ("Filter", "筛选"),
    "filter placeholder": ("number or status", "编号或状态"),
    "filter named": ("name, number or status", "姓名、编号或状态"),
    "any item": ("any item", "任意题"),
    "any state": ("any state", "任意状态"),
    "shown": ("{n} of {m} shown", "显示 {m} 名中的 {n} 名"),
    "class how": (
        "One sign an item; a gap between parts. Point at a sign to read which it is.",
        "每题一个符号，部分之间有空格。把鼠标放在符号上，可以看到是哪一题。",
    ),
    "nobody here": ("There are no students.", "没有学生。"),
    "bands": (
        "{n} students are too many for a file under 1 MB: here are bands of their points. A sign is the part of them that "
        "got full points: * all, 9 at least 90 %, 0 under 10 %.",
        "{n} 名学生放不进 1 MB 以内的文件：这里按分数段列出。符号是其中得满分的比例：* 全部，9 至少 90 %，0 不足 10 %。",
    ),
    "band": ("Points", "分数段"),
    "no total": ("no score", "没有分数"),
    # 8
    "who counts": ("Who counts", "计入哪些人"),
    "who counts text": (
        "A student is a person, and counts once, with the latest active submission. A group's submission is one submission "
        "and as many students as the group has. Scores, known mistakes and the table of students count students; items, "
        "progress and reliability count submissions, since copies of the same work would make the items look more alike than they are.",
        "学生指人，每人只计一次，以最近一次有效提交为准。小组的提交是一份提交，组里有几人就计几名学生。分数、已知错误和"
        "学生表按学生计；各题、进展和信度按提交计，因为同一份作业的多个副本会让各题显得比实际更一致。",
    ),
    "left out": ("What is left out", "不计入的"),
    "left grader": (
        "A failure of the grader is no verdict: these submissions are in no statistic. In a graded one, an item without a "
        "verdict is left out of that item, and the submission out of what needs all items. That concerns {n}.",
        "评分系统出错不是结论：这些提交不计入任何统计。已评分的提交里没有结论的题，不计入该题；这份提交也不计入需要所有题的统计。涉及 {n}。",
    ),
    "left refused": (
        "A refused submission scores 0 and is in the scores; it says nothing about an item and is left out of items, "
        "mistakes, progress and reliability. That concerns {n}.",
        "未被接收的提交记 0 分，计入分数；它不能说明任何一题，所以不计入各题、错误、进展和信度。涉及 {n}。",
    ),
    "left absent": (
        "Who handed in nothing has no score, which is not a 0: {n}. Not graded yet: {m}.",
        "没有提交的人没有分数，这不等于 0 分：{n}。尚未评分：{m}。",
    ),
    "left waived": (
        "A waived item gives everybody its points: it is in the totals and in nothing else ({n}). A bonus item has a "
        "difficulty and a discrimination against the main items, but is in no sum of other items, no alpha and no points "
        "lost ({m}).",
        "免做题人人得分：只计入总分，不计入其他统计（{n}）。附加题有难度，也有与主要各题的区分度，"
        "但不计入其余各题之和、α 和失分占比（{m}）。",
    ),
    "figures": ("The figures", "各项指标"),
    "symbols": (
        "<i>x</i> is a score in points, <i>P</i> an item's points, <i>t</i> a total, <i>s</i> a student or submission, <i>i</i> and <i>j</i> "
        "items; <i>n</i> counts submissions (for scores students), <i>k</i> the main items: neither bonus nor waived.",
        "<i>x</i> 是得分，<i>P</i> 是一题的分值，<i>t</i> 是总分，<i>s</i> 是学生或提交，<i>i</i> 和 <i>j</i> 是题；"
        "<i>n</i> 是提交数（分数一节为学生数），<i>k</i> 是主要题的数目：不含附加题和免做题。",
    ),
    "def mean": (
        "Mean and standard deviation. The median and the quartiles interpolate linearly between neighbours.",
        "平均分与标准差。中位数和四分位数在相邻值之间线性插值。",
    ),
    "def difficulty": ("Difficulty: the mean part of an item's points.", "难度：一题的平均得分率。"),
    "def lost": (
        "Points lost: in all, a submission, and as a part of what all main items lose.",
        "失分：总和、每份提交的平均值、占所有主要题失分的比例。",
    ),
    "def discrimination": (
        "Discrimination: Pearson's correlation of an item with the rest, the sum of the other main items, over submissions "
        "with a verdict on all of them.",
        "区分度：一题与其余主要题之和的 Pearson 相关系数，只计在这些题上都有结论的提交。",
    ),
    "def alpha": (
        "Alpha, from the variances of the items and of the total, over submissions with a verdict on all main items.",
        "α：由各题的方差和总分的方差算出，只计在所有主要题上都有结论的提交。",
    ),
    "def interval": (
        "Its interval is Feldt's (1965), with quantiles of the F distribution found by inverting the incomplete beta function. "
        "It is exact for normal scores of equal true parts, which points of items are not: on simulated classes of 10 to 1,000 "
        "it held the true value in 97 to 99 of 100, so it is rather too wide.",
        "区间按 Feldt（1965），F 分布的分位数由不完全贝塔函数求逆得到。它对正态且真分数相等的题是精确的，而题目得分并非如此："
        "在 10 到 1000 人的模拟班级上，100 次里有 97 到 99 次包含真值，所以略微偏宽。",
    ),
    "def error": ("Standard error of measurement, in points.", "测量标准误，单位为分。"),
    "thresholds": ("When something is flagged", "何时作标记"),
    "thresholds text": (
        "From {enough} submissions on: too easy from difficulty {easy}, too hard up to {hard} (no bonus item). Negative: "
        "discrimination below 0, from {sure} submissions on. Hidden fails: at least {count} submissions and {gap} of those "
        "that pass all local tests.",
        "提交不少于 {enough} 份时：难度不低于 {easy} 为太容易，不高于 {hard} 为太难（附加题除外）。负区分度：区分度小于 0，"
        "且提交不少于 {sure} 份。隐藏测试未过：至少 {count} 份提交，且占通过全部本地测试者的 {gap} 以上。",
    ),
    "first and last": (
        "Progress: earlier scores are the platform's; the last one too where it has one, else that of this grading. A fall "
        "can be the platform's grader having changed.",
        "进展：较早的分数来自平台；最后一次也用平台的分数，没有时用这次评分的分数。下降也可能是平台的评分程序变了。",
    ),
    "privacy": ("Privacy", "隐私"),
    "privacy text": (
        "Numbers follow a keyed hash, not the roster. The key is a digest of the whole roster and of all files that were "
        "handed in: it is not in this page and cannot be computed from it. The same roster gives the same numbers. What "
        "students wrote is not in this page.",
        "编号由带密钥的散列决定，与名单的顺序无关。密钥是整个名单和所有提交文件的摘要：不在本页里，也不能由本页算出。"
        "同一名单得到同样的编号。本页不含学生写的任何内容。",
    ),
    "privacy named": (
        "This page has names, addresses and what refused students were told. Numbers are those of the page without names.",
        "本页含姓名、邮箱，以及未被接收的学生看到的说明。编号与不含姓名的页面相同。",
    ),
    "versions": ("Versions", "版本"),
    "versions text": (
        "Assignment {version}, grader {grader}, autograder {autograder}, numpy {numpy}.",
        "作业 {version}，评分程序 {grader}，autograder {autograder}，numpy {numpy}。",
    ),
}


class Words:
    """The words of one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._at = LANGUAGES.index(language)

    def __call__(self, key: str, **holes: object) -> str:
        """The text of a key with its holes filled."""
        text = WORDS[key][self._at]
        return text.format(**holes) if holes else text

    def counted(self, key: str, n: int) -> str:
        """ "1 student", "2 students"; with commas from 1,000 on."""
        return self(f"{key}1" if n == 1 else key, n=f"{n:,}")

    def either(self, english: str, chinese: str) -> str:
        """Of a text that comes in both languages, this one; the other where it is empty."""
        texts = (english, chinese)
        return texts[self._at] or texts[1 - self._at]
