from dsl import *


def verify_90c82409(I: Grid) -> Grid:
    x0 = objects(I, T, F, T)
    x1 = argmax(x0, size)
    x2 = subgrid(x1, I)
    return x2


def verify_01fce304(I: Grid) -> Grid:
    x0 = colorfilter(objects(I, T, F, F), NEG_ONE)
    x1 = argmax(x0, size)
    return x1


def verify_45bb4090(I: Grid) -> Indices:
    x0 = initset(ORIGIN)
    x1 = difference(x0, x0)
    x2 = occurrences(I, x1)
    return x2


def verify_d339a1cf(I: Grid) -> Integer:
    x0 = argmin((), size)
    return x0


def verify_8a0ab703(I: Grid) -> Grid:
    x0 = branch(condition=portrait(I), if_value=rot90(I), else_value=I)
    return first(branch(F, x0, ()))
