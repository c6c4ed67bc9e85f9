"""The formulas of the page in MathML Core, which browsers draw without help. The same in every language."""

from __future__ import annotations


def _i(*names: str) -> str:
    return "".join(f"<mi>{name}</mi>" for name in names)


def _o(sign: str) -> str:
    return f"<mo>{sign}</mo>"


def _n(value: str) -> str:
    return f"<mn>{value}</mn>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _sub(base: str, below: str) -> str:
    return f"<msub>{base}{below}</msub>"


def _square(base: str, below: str) -> str:
    return f"<msubsup>{base}{below}{_n('2')}</msubsup>"


def _over(above: str, below: str) -> str:
    return f"<mfrac>{above}{below}</mfrac>"


def _sum(below: str) -> str:
    return f"<munder>{_o('∑')}{below}</munder>"


def _hat(base: str) -> str:
    return f"<mover>{base}{_o('^')}</mover>"


def _formula(*parts: str) -> str:
    return f'<math display="block">{_row(*parts)}</math>'


_X_SI = _sub(_i("x"), _row(_i("s", "i")))
_P_I = _sub(_i("P"), _i("i"))
_T_S, _R_S = _sub(_i("t"), _i("s")), _sub(_i("r"), _row(_i("s", "i")))
_MEAN = f"<mover>{_i('t')}{_o('¯')}</mover>"
_N_1 = _row(_i("n"), _o("−"), _n("1"))
_K_1 = _row(_i("k"), _o("−"), _n("1"))


def _paren(*parts: str) -> str:
    return _row(_o("("), *parts, _o(")"))


def _limit(side: str, share: str) -> str:
    quantile = _sub(_i("F"), _row(_n(share), _o(";"), _N_1, _o(","), _paren(_N_1), _paren(_K_1)))
    one_less = _paren(_n("1"), _o("−"), _hat(_i("α")))
    return _row(_sub(_i("α"), f"<mtext>{side}</mtext>"), _o("="), _n("1"), _o("−"), one_less, quantile)


FORMULAS = {
    "mean": _formula(
        *(_MEAN, _o("="), _over(_n("1"), _i("n")), _sum(_i("s")), _T_S, _o(","), "<mspace width='1.5em'/>"),
        *(_i("sd"), _o("="), "<msqrt>", _over(_n("1"), _N_1), _sum(_i("s"))),
        *(f"<msup>{_paren(_T_S, _o('−'), _MEAN)}{_n('2')}</msup>", "</msqrt>"),
    ),
    "difficulty": _formula(
        _sub(_i("p"), _i("i")), _o("="), _over(_n("1"), _row(_sub(_i("n"), _i("i")), _P_I)), _sum(_i("s")), _X_SI
    ),
    "lost": _formula(
        *(_sub(_i("L"), _i("i")), _o("="), _sum(_i("s")), _paren(_P_I, _o("−"), _X_SI), _o(",")),
        *("<mspace width='1.5em'/>", _over(_sub(_i("L"), _i("i")), _sub(_i("n"), _i("i"))), _o(",")),
        *("<mspace width='1.5em'/>", _over(_sub(_i("L"), _i("i")), _row(_sum(_i("j")), _sub(_i("L"), _i("j"))))),
    ),
    "discrimination": _formula(
        *(_i("corr"), _paren(_sub(_i("x"), _i("i")), _o(","), _sub(_i("r"), _i("i"))), _o(",")),
        *("<mspace width='1.5em'/>", _R_S, _o("="), _sum(_row(_i("j"), _o("≠"), _i("i")))),
        _sub(_i("x"), _row(_i("s", "j"))),
    ),
    "alpha": _formula(
        *(_hat(_i("α")), _o("="), _over(_i("k"), _K_1)),
        _paren(
            *(_n("1"), _o("−")),
            _over(_row(_sum(_i("i")), _square(_i("s"), _i("i"))), _square(_i("s"), _i("t"))),
        ),
    ),
    "interval": _formula(_limit("low", "0.975"), _o(","), "<mspace width='1.5em'/>", _limit("high", "0.025")),
    "error": _formula(
        *(_sub(_i("s"), _i("e")), _o("="), _sub(_i("s"), _i("t"))),
        f"<msqrt>{_n('1')}{_o('−')}{_hat(_i('α'))}</msqrt>",
    ),
}
