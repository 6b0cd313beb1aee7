"""Solvers of three arguments, in the dialect of batt files."""
from dsl import *
from constants import *


def solve_90c82409(S: Samples, I: Grid, C: Grid) -> Grid:
    """The largest object."""
    x1 = o_g(I, R5)
    x2 = get_arg_rank_f(container=x1, compfunc=size, rank=F0)
    O: Grid = subgrid(x2, I)
    return O


def solve_01fce304(S, I, C):
    x1 = mir_rot_t(I, A2)
    O = hconcat(I, x1)
    return O


def differ_45bb4090(S, I, C):
    x1 = p_g(I)
    x2 = p_g(C)
    x3 = difference_tuple(x2, x1)
    x4 = get_nth_t(x3, L1)
    x5 = size(x3)
    return astuple(x5, x4)


def solve_d339a1cf(S, I, C):
    x1 = o_g(I, R1)
    x2 = get_color_rank_t(I, L1)
    x3 = apply(lambda g: width_i(g), x1)
    x4 = mapply(neighbors, f_ofcolor(I, x2))
    x5 = fill(I, color=x2, patch=x4)
    x6 = underfill(x5, maximum(x3), asindices(I))
    return x6


def solve_8a0ab703(S, I, C):
    x1 = o_g_t(I, R7)
    x2 = colorfilter_t(x1, FIVE)
    x3 = sizefilter_t(x1, ONE)
    x4 = get_nth_t(x1, NEG_THREE)
    return (x2, x3, x4, col_row(x4, R2), index(I, TWO_BY_ZERO), index(I, (HUNDRED, ZERO)))
