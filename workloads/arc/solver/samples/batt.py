# Candidates in the style of generated batt files, made up for this project.

from safe_dsl import _get_safe_default

def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    try:
        t1 = mir_rot_t(I, A2)
    except (TypeError, AttributeError, ValueError):
        t1 = _get_safe_default(mir_rot_t)
    try:
        t2 = hconcat(I, t1)
    except (TypeError, AttributeError, ValueError):
        t2 = _get_safe_default(hconcat)
    o.append((2, True, '01fce304', t2))
    try:
        t3 = rbind(o_g, R5)
    except (TypeError, AttributeError, ValueError):
        t3 = _get_safe_default(rbind)
    try:
        t4 = t3(I)
    except (TypeError, AttributeError, ValueError):
        t4 = _get_safe_default(t3)
    try:
        t5 = argmax(t4, size)
    except (TypeError, AttributeError, ValueError):
        t5 = _get_safe_default(argmax)
    t6 = subgrid(t5, I)
    o.append((6, True, '90c82409', t6))
    try:
        t7 = difference(t4, t3)
    except (TypeError, AttributeError, ValueError):
        t7 = _get_safe_default(difference)
    t8 = get_nth_f(t7, F0)
    t9 = mir_rot_f(t8, A0)
    t10 = paint(I, t9)
    o.append((10, False, 'None', t10))
    # What the demonstrations' outputs have that their inputs have not.
    t11 = apply(first, S)
    t12 = apply(second, S)
    t13 = mapply(p_g, t11)
    t14 = mapply(p_g, t12)
    t15 = dedupe(t13)
    t16 = dedupe(t14)
    t17 = difference_tuple(t16, t15)
    try:
        t18 = get_nth_t(t17, F0)
    except (TypeError, AttributeError, ValueError, IndexError):
        t18 = _get_safe_default(get_nth_t)
    t19 = mostcolor_t(I)
    try:
        t20 = replace(I, t19, t18)
    except (TypeError, AttributeError, ValueError):
        t20 = _get_safe_default(replace)
    o.append((20, True, None, t20))
    t21 = p_g(I)
    try:
        t22 = p_g(C)
    except (TypeError, AttributeError, ValueError):
        t22 = _get_safe_default(p_g)
    t23 = difference_tuple(t22, t21)
    t24 = size(t23)
    s.append((24, '01fce304', 'differ_colors', t24))
    return o, s
