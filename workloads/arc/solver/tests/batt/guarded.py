# Lines chosen at random, made for this project.

from pile import *
from gpu_env import GPUEnv as Env
from safe_dsl import _get_safe_default

try:
    import cupy as cp
    USE_GPU = True
except Exception as e:
    USE_GPU = False


def batch_process_samples_gpu(S):
    """The inputs and outputs of all pairs, and their colours."""
    t1 = apply(first, S)
    t2 = apply(second, S)
    return t1, t2, mapply(p_g, t1), mapply(p_g, t2)


def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    # Pre-mutate: t1 - differ = False - solver = True - old_items = ['identity']
    try:
        t1 = identity(p_g)
    except (TypeError, AttributeError, ValueError):
        t1 = _get_safe_default(identity)
    # Pre-mutate: t2 - differ = False - solver = True - old_items = ['t1']
    try:
        t2 = t1(I)
    except (TypeError, AttributeError, ValueError):
        t2 = _get_safe_default(t1)
    # Pre-mutate: t3 - differ = False - solver = True - old_items = ['t1']
    try:
        t3 = t1(C)
    except (TypeError, AttributeError, ValueError):
        t3 = _get_safe_default(t1)
    # Pre-mutate: t4 - differ = False - solver = True - old_items = ['difference_tuple']
    try:
        t4 = difference_tuple(t3, t2)
    except (TypeError, AttributeError, ValueError):
        t4 = _get_safe_default(difference_tuple)
    # Pre-mutate: t5 - differ = False - solver = True - old_items = ['size']
    try:
        t5 = size(t4)
    except (TypeError, AttributeError, ValueError):
        t5 = _get_safe_default(size)
    # Pre-mutate: t6 - differ = False - solver = True - old_items = ['get_nth_t']
    try:
        t6 = get_nth_t(t4, F0)
    except (TypeError, AttributeError, ValueError):
        t6 = _get_safe_default(get_nth_t)
    # Pre-mutate: t7 - differ = False - solver = True - old_items = ['astuple']
    try:
        t7 = astuple(t5, t6)
    except (TypeError, AttributeError, ValueError):
        t7 = _get_safe_default(astuple)
    s.append((7, 'None', 'differ_colors', t7))
    # Pre-mutate: t8 - differ = False - solver = True - old_items = ['rbind']
    try:
        t8 = rbind(o_g, R5)
    except (TypeError, AttributeError, ValueError):
        t8 = _get_safe_default(rbind)
    # Pre-mutate: t9 - differ = False - solver = True - old_items = ['t8']
    try:
        t9 = t8(I)
    except (TypeError, AttributeError, ValueError):
        t9 = _get_safe_default(t8)
    # Pre-mutate: t10 - differ = False - solver = True - old_items = ['t8']
    try:
        t10 = t8(C)
    except (TypeError, AttributeError, ValueError):
        t10 = _get_safe_default(t8)
    # Pre-mutate: t11 - differ = False - solver = True - old_items = ['difference']
    try:
        t11 = difference(t9, t10)
    except (TypeError, AttributeError, ValueError):
        t11 = _get_safe_default(difference)
    # Pre-mutate: t12 - differ = False - solver = True - old_items = ['size']
    try:
        t12 = size(t11)
    except (TypeError, AttributeError, ValueError):
        t12 = _get_safe_default(size)
    # Pre-mutate: t13 - differ = False - solver = True - old_items = ['get_nth_f']
    try:
        t13 = get_nth_f(t11, F0)
    except (TypeError, AttributeError, ValueError):
        t13 = _get_safe_default(get_nth_f)
    # Pre-mutate: t14 - differ = False - solver = True - old_items = ['astuple']
    try:
        t14 = astuple(t12, t13)
    except (TypeError, AttributeError, ValueError):
        t14 = _get_safe_default(astuple)
    s.append((14, 'None', 'differ_objects', t14))
    t21, t22, t23, t24 = batch_process_samples_gpu(S)
    # Pre-mutate: t25 - differ = False - solver = True - old_items = ['dedupe']
    t25 = dedupe(t23)
    # Pre-mutate: t26 - differ = False - solver = True - old_items = ['dedupe']
    t26 = dedupe(t24)
    # Pre-mutate: t27 - differ = False - solver = True - old_items = ['difference_tuple']
    t27 = difference_tuple(t26, t25)
    # Pre-mutate: t28 - differ = False - solver = True - old_items = ['get_nth_t']
    t28 = get_nth_t(t27, F0)
    # Pre-mutate: t29 - differ = False - solver = True - old_items = ['replace']
    try:
        t29 = replace(I, BLACK, t28)
    except (TypeError, AttributeError, ValueError):
        t29 = _get_safe_default(replace)
    o.append((29, True, '90c82409', t29))
    # Pre-mutate: t31 - differ = False - solver = True - old_items = ['get_arg_rank']
    try:
        t31 = get_arg_rank(I, normalize_i, SD3)
    except (TypeError, AttributeError, ValueError):
        t31 = _get_safe_default(get_arg_rank)
    # Pre-mutate: t32 - differ = False - solver = True - old_items = ['recolor_i']
    try:
        t32 = recolor_i(F9, S)
    except (TypeError, AttributeError, ValueError):
        t32 = _get_safe_default(recolor_i)
    # Pre-mutate: t33 - differ = False - solver = True - old_items = ['sign']
    try:
        t33 = sign(ORIGIN)
    except (TypeError, AttributeError, ValueError):
        t33 = _get_safe_default(sign)
    o.append((33, False, '90c82409', t33))
    # Pre-mutate: t34 - differ = False - solver = True - old_items = ['mostcommon_t']
    try:
        t34 = mostcommon_t(I)
    except (TypeError, AttributeError, ValueError):
        t34 = _get_safe_default(mostcommon_t)
    # Pre-mutate: t35 - differ = False - solver = True - old_items = ['dmirror_t']
    try:
        t35 = dmirror_t(I)
    except (TypeError, AttributeError, ValueError):
        t35 = _get_safe_default(dmirror_t)
    # Pre-mutate: t36 - differ = False - solver = True - old_items = ['cellwise']
    try:
        t36 = cellwise(I, t31, I)
    except (TypeError, AttributeError, ValueError):
        t36 = _get_safe_default(cellwise)
    o.append((36, False, '90c82409', t36))
    # Pre-mutate: t37 - differ = False - solver = True - old_items = ['toivec']
    try:
        t37 = toivec(T)
    except (TypeError, AttributeError, ValueError):
        t37 = _get_safe_default(toivec)
    # Pre-mutate: t38 - differ = False - solver = True - old_items = ['objects']
    try:
        t38 = objects(S, TEN, ZERO, A3)
    except (TypeError, AttributeError, ValueError):
        t38 = _get_safe_default(objects)
    # Pre-mutate: t39 - differ = False - solver = True - old_items = ['rot180']
    try:
        t39 = rot180(I)
    except (TypeError, AttributeError, ValueError):
        t39 = _get_safe_default(rot180)
    o.append((39, False, '90c82409', t39))
    # Pre-mutate: t40 - differ = False - solver = True - old_items = ['size_f']
    try:
        t40 = size_f(t38)
    except (TypeError, AttributeError, ValueError):
        t40 = _get_safe_default(size_f)
    s.append((40, '90c82409', 'differ_10', t40))
    # Pre-mutate: t41 - differ = False - solver = True - old_items = ['a_mr']
    try:
        t41 = a_mr(S)
    except (TypeError, AttributeError, ValueError):
        t41 = _get_safe_default(a_mr)
    # Pre-mutate: t42 - differ = False - solver = True - old_items = ['width_f']
    try:
        t42 = width_f(toobject)
    except (TypeError, AttributeError, ValueError):
        t42 = _get_safe_default(width_f)
    o.append((42, False, '90c82409', t42))
    # Pre-mutate: t43 - differ = False - solver = True - old_items = ['invert']
    try:
        t43 = invert(t37)
    except (TypeError, AttributeError, ValueError):
        t43 = _get_safe_default(invert)
    # Pre-mutate: t44 - differ = False - solver = True - old_items = ['double']
    try:
        t44 = double(t37)
    except (TypeError, AttributeError, ValueError):
        t44 = _get_safe_default(double)
    # Pre-mutate: t45 - differ = False - solver = True - old_items = ['dmirror_t']
    try:
        t45 = dmirror_t(t39)
    except (TypeError, AttributeError, ValueError):
        t45 = _get_safe_default(dmirror_t)
    o.append((45, False, '90c82409', t45))
    # Pre-mutate: t46 - differ = False - solver = True - old_items = ['hsplit']
    try:
        t46 = hsplit(I, R5)
    except (TypeError, AttributeError, ValueError):
        t46 = _get_safe_default(hsplit)
    # Pre-mutate: t47 - differ = False - solver = True - old_items = ['last']
    try:
        t47 = last(t33)
    except (TypeError, AttributeError, ValueError):
        t47 = _get_safe_default(last)
    # Pre-mutate: t48 - differ = False - solver = True - old_items = ['shape_f']
    try:
        t48 = shape_f(I)
    except (TypeError, AttributeError, ValueError):
        t48 = _get_safe_default(shape_f)
    o.append((48, False, '90c82409', t48))
    # Pre-mutate: t49 - differ = False - solver = True - old_items = ['astuple']
    try:
        t49 = astuple(NEG_EIGHT, S)
    except (TypeError, AttributeError, ValueError):
        t49 = _get_safe_default(astuple)
    # Pre-mutate: t50 - differ = False - solver = True - old_items = ['first_f']
    try:
        t50 = first_f(t43)
    except (TypeError, AttributeError, ValueError):
        t50 = _get_safe_default(first_f)
    s.append((50, '90c82409', 'differ_20', t50))
    # Pre-mutate: t51 - differ = False - solver = True - old_items = ['frontiers']
    try:
        t51 = frontiers(t35)
    except (TypeError, AttributeError, ValueError):
        t51 = _get_safe_default(frontiers)
    o.append((51, False, '90c82409', t51))
    # Pre-mutate: t52 - differ = False - solver = True - old_items = ['ineighbors']
    try:
        t52 = ineighbors(t48)
    except (TypeError, AttributeError, ValueError):
        t52 = _get_safe_default(ineighbors)
    # Pre-mutate: t53 - differ = False - solver = True - old_items = ['last']
    try:
        t53 = last(t49)
    except (TypeError, AttributeError, ValueError):
        t53 = _get_safe_default(last)
    # Pre-mutate: t54 - differ = False - solver = True - old_items = ['dmirror_t']
    try:
        t54 = dmirror_t(t45)
    except (TypeError, AttributeError, ValueError):
        t54 = _get_safe_default(dmirror_t)
    o.append((54, False, '90c82409', t54))
    # Pre-mutate: t55 - differ = False - solver = True - old_items = ['repeat']
    try:
        t55 = repeat(t37, FOUR)
    except (TypeError, AttributeError, ValueError):
        t55 = _get_safe_default(repeat)
    # Pre-mutate: t56 - differ = False - solver = True - old_items = ['dmirror_t']
    try:
        t56 = dmirror_t(t51)
    except (TypeError, AttributeError, ValueError):
        t56 = _get_safe_default(dmirror_t)
    # Pre-mutate: t57 - differ = False - solver = True - old_items = ['leastcolor_f']
    try:
        t57 = leastcolor_f(t31)
    except (TypeError, AttributeError, ValueError):
        t57 = _get_safe_default(leastcolor_f)
    o.append((57, False, '90c82409', t57))
    # Pre-mutate: t58 - differ = False - solver = True - old_items = ['asobject']
    try:
        t58 = asobject(t35)
    except (TypeError, AttributeError, ValueError):
        t58 = _get_safe_default(asobject)
    # Pre-mutate: t59 - differ = False - solver = True - old_items = ['objects']
    try:
        t59 = objects(I, F, F, t40)
    except (TypeError, AttributeError, ValueError):
        t59 = _get_safe_default(objects)
    # Pre-mutate: t60 - differ = False - solver = True - old_items = ['second']
    try:
        t60 = second(t56)
    except (TypeError, AttributeError, ValueError):
        t60 = _get_safe_default(second)
    o.append((60, False, '90c82409', t60))
    s.append((60, '90c82409', 'differ_30', t60))
    # Pre-mutate: t61 - differ = False - solver = True - old_items = ['height_o']
    try:
        t61 = height_o(t44)
    except (TypeError, AttributeError, ValueError):
        t61 = _get_safe_default(height_o)
    # Pre-mutate: t62 - differ = False - solver = True - old_items = ['papply']
    try:
        t62 = papply(invert, ZERO_BY_TWO, t34)
    except (TypeError, AttributeError, ValueError):
        t62 = _get_safe_default(papply)
    # Pre-mutate: t63 - differ = False - solver = True - old_items = ['center']
    try:
        t63 = center(t58)
    except (TypeError, AttributeError, ValueError):
        t63 = _get_safe_default(center)
    o.append((63, False, '90c82409', t63))
    # Pre-mutate: t64 - differ = False - solver = True - old_items = ['mir_rot_f']
    try:
        t64 = mir_rot_f(t58, I)
    except (TypeError, AttributeError, ValueError):
        t64 = _get_safe_default(mir_rot_f)
    # Pre-mutate: t65 - differ = False - solver = True - old_items = ['get_nth_f']
    try:
        t65 = get_nth_f(S, t57)
    except (TypeError, AttributeError, ValueError):
        t65 = _get_safe_default(get_nth_f)
    # Pre-mutate: t66 - differ = False - solver = True - old_items = ['argmin_f']
    try:
        t66 = argmin_f(t32, outbox)
    except (TypeError, AttributeError, ValueError):
        t66 = _get_safe_default(argmin_f)
    o.append((66, False, '90c82409', t66))
    # Pre-mutate: t67 - differ = False - solver = True - old_items = ['vline_i']
    try:
        t67 = vline_i(t52)
    except (TypeError, AttributeError, ValueError):
        t67 = _get_safe_default(vline_i)
    # Pre-mutate: t68 - differ = False - solver = True - old_items = ['valmax']
    try:
        t68 = valmax(minimum, vmirror_t)
    except (TypeError, AttributeError, ValueError):
        t68 = _get_safe_default(valmax)
    # Pre-mutate: t69 - differ = False - solver = True - old_items = ['subgrid']
    try:
        t69 = subgrid(t39, t35)
    except (TypeError, AttributeError, ValueError):
        t69 = _get_safe_default(subgrid)
    o.append((69, False, '90c82409', t69))
    # Pre-mutate: t70 - differ = False - solver = True - old_items = ['mir_rot_f']
    try:
        t70 = mir_rot_f(t58, F1)
    except (TypeError, AttributeError, ValueError):
        t70 = _get_safe_default(mir_rot_f)
    s.append((70, '90c82409', 'differ_40', t70))
    # Pre-mutate: t71 - differ = False - solver = True - old_items = ['other_f']
    try:
        t71 = other_f(t51, t33)
    except (TypeError, AttributeError, ValueError):
        t71 = _get_safe_default(other_f)
    # Pre-mutate: t72 - differ = False - solver = True - old_items = ['trim']
    try:
        t72 = trim(t45)
    except (TypeError, AttributeError, ValueError):
        t72 = _get_safe_default(trim)
    o.append((72, False, '90c82409', t72))
    # Pre-mutate: t73 - differ = False - solver = True - old_items = ['dmirror_t']
    try:
        t73 = dmirror_t(t55)
    except (TypeError, AttributeError, ValueError):
        t73 = _get_safe_default(dmirror_t)
    # Pre-mutate: t74 - differ = False - solver = True - old_items = ['fill']
    try:
        t74 = fill(t54, ONE, t57)
    except (TypeError, AttributeError, ValueError):
        t74 = _get_safe_default(fill)
    # Pre-mutate: t75 - differ = False - solver = True - old_items = ['switch']
    try:
        t75 = switch(I, SM2, t40)
    except (TypeError, AttributeError, ValueError):
        t75 = _get_safe_default(switch)
    o.append((75, False, '90c82409', t75))
    # Pre-mutate: t76 - differ = False - solver = True - old_items = ['index']
    try:
        t76 = index(A2, t70)
    except (TypeError, AttributeError, ValueError):
        t76 = _get_safe_default(index)
    # Pre-mutate: t77 - differ = False - solver = True - old_items = ['width_t']
    try:
        t77 = width_t(t67)
    except (TypeError, AttributeError, ValueError):
        t77 = _get_safe_default(width_t)
    # Pre-mutate: t78 - differ = False - solver = True - old_items = ['toobject']
    try:
        t78 = toobject(t58, t35)
    except (TypeError, AttributeError, ValueError):
        t78 = _get_safe_default(toobject)
    o.append((78, False, '90c82409', t78))
    # Pre-mutate: t79 - differ = False - solver = True - old_items = ['toobject']
    try:
        t79 = toobject(t52, t60)
    except (TypeError, AttributeError, ValueError):
        t79 = _get_safe_default(toobject)
    # Pre-mutate: t80 - differ = False - solver = True - old_items = ['rot270']
    try:
        t80 = rot270(t72)
    except (TypeError, AttributeError, ValueError):
        t80 = _get_safe_default(rot270)
    s.append((80, '90c82409', 'differ_50', t80))
    # Pre-mutate: t81 - differ = False - solver = True - old_items = ['decrement']
    try:
        t81 = decrement(t34)
    except (TypeError, AttributeError, ValueError):
        t81 = _get_safe_default(decrement)
    o.append((81, False, '90c82409', t81))
    # Pre-mutate: t82 - differ = False - solver = True - old_items = ['toivec']
    try:
        t82 = toivec(normalize)
    except (TypeError, AttributeError, ValueError):
        t82 = _get_safe_default(toivec)
    # Pre-mutate: t83 - differ = False - solver = True - old_items = ['lrcorner']
    try:
        t83 = lrcorner(t71)
    except (TypeError, AttributeError, ValueError):
        t83 = _get_safe_default(lrcorner)
    # Pre-mutate: t84 - differ = False - solver = True - old_items = ['vfrontier']
    try:
        t84 = vfrontier(TWO_BY_ZERO)
    except (TypeError, AttributeError, ValueError):
        t84 = _get_safe_default(vfrontier)
    o.append((84, False, '90c82409', t84))
    # Pre-mutate: t85 - differ = False - solver = True - old_items = ['repeat']
    try:
        t85 = repeat(F0, t61)
    except (TypeError, AttributeError, ValueError):
        t85 = _get_safe_default(repeat)
    # Pre-mutate: t86 - differ = False - solver = True - old_items = ['identity']
    try:
        t86 = identity(t34)
    except (TypeError, AttributeError, ValueError):
        t86 = _get_safe_default(identity)
    # Pre-mutate: t87 - differ = False - solver = True - old_items = ['last_f']
    try:
        t87 = last_f(t73)
    except (TypeError, AttributeError, ValueError):
        t87 = _get_safe_default(last_f)
    o.append((87, False, '90c82409', t87))
    # Pre-mutate: t88 - differ = False - solver = True - old_items = ['rbind']
    try:
        t88 = rbind(ulcorner, t75)
    except (TypeError, AttributeError, ValueError):
        t88 = _get_safe_default(rbind)
    # Pre-mutate: t89 - differ = False - solver = True - old_items = ['get_color_rank_f']
    try:
        t89 = get_color_rank_f(t82, L3)
    except (TypeError, AttributeError, ValueError):
        t89 = _get_safe_default(get_color_rank_f)
    # Pre-mutate: t90 - differ = False - solver = True - old_items = ['rot90']
    try:
        t90 = rot90(t54)
    except (TypeError, AttributeError, ValueError):
        t90 = _get_safe_default(rot90)
    o.append((90, False, '90c82409', t90))
    s.append((90, '90c82409', 'differ_60', t90))
    # Pre-mutate: t91 - differ = False - solver = True - old_items = ['size_f']
    try:
        t91 = size_f(t76)
    except (TypeError, AttributeError, ValueError):
        t91 = _get_safe_default(size_f)
    # Pre-mutate: t92 - differ = False - solver = True - old_items = ['rot90']
    try:
        t92 = rot90(t36)
    except (TypeError, AttributeError, ValueError):
        t92 = _get_safe_default(rot90)
    # Pre-mutate: t93 - differ = False - solver = True - old_items = ['valmin']
    try:
        t93 = valmin(t46, corners)
    except (TypeError, AttributeError, ValueError):
        t93 = _get_safe_default(valmin)
    o.append((93, False, '90c82409', t93))
    # Pre-mutate: t94 - differ = False - solver = True - old_items = ['sfilter_f']
    try:
        t94 = sfilter_f(t51, lowermost)
    except (TypeError, AttributeError, ValueError):
        t94 = _get_safe_default(sfilter_f)
    # Pre-mutate: t95 - differ = False - solver = True - old_items = ['mostcolor_f']
    try:
        t95 = mostcolor_f(t64)
    except (TypeError, AttributeError, ValueError):
        t95 = _get_safe_default(mostcolor_f)
    # Pre-mutate: t96 - differ = False - solver = True - old_items = ['compress']
    try:
        t96 = compress(t45)
    except (TypeError, AttributeError, ValueError):
        t96 = _get_safe_default(compress)
    o.append((96, False, '90c82409', t96))
    # Pre-mutate: t97 - differ = False - solver = True - old_items = ['vline_i']
    try:
        t97 = vline_i(t58)
    except (TypeError, AttributeError, ValueError):
        t97 = _get_safe_default(vline_i)
    # Pre-mutate: t98 - differ = False - solver = True - old_items = ['mir_rot_t']
    try:
        t98 = mir_rot_t(t69, t95)
    except (TypeError, AttributeError, ValueError):
        t98 = _get_safe_default(mir_rot_t)
    # Pre-mutate: t99 - differ = False - solver = True - old_items = ['combine_t']
    try:
        t99 = combine_t(t62, t46)
    except (TypeError, AttributeError, ValueError):
        t99 = _get_safe_default(combine_t)
    o.append((99, False, '90c82409', t99))
    # Pre-mutate: t100 - differ = False - solver = True - old_items = ['remove_t']
    try:
        t100 = remove_t(t60, t63)
    except (TypeError, AttributeError, ValueError):
        t100 = _get_safe_default(remove_t)
    s.append((100, '90c82409', 'differ_70', t100))
    # Pre-mutate: t101 - differ = False - solver = True - old_items = ['lefthalf']
    try:
        t101 = lefthalf(t45)
    except (TypeError, AttributeError, ValueError):
        t101 = _get_safe_default(lefthalf)
    # Pre-mutate: t102 - differ = False - solver = True - old_items = ['leastcolor_t']
    try:
        t102 = leastcolor_t(t53)
    except (TypeError, AttributeError, ValueError):
        t102 = _get_safe_default(leastcolor_t)
    o.append((102, False, '90c82409', t102))
    # Pre-mutate: t103 - differ = False - solver = True - old_items = ['normalize_i']
    try:
        t103 = normalize_i(t52)
    except (TypeError, AttributeError, ValueError):
        t103 = _get_safe_default(normalize_i)
    # Pre-mutate: t104 - differ = False - solver = True - old_items = ['chain']
    try:
        t104 = chain(llcorner, positive, sizefilter_t)
    except (TypeError, AttributeError, ValueError):
        t104 = _get_safe_default(chain)
    # Pre-mutate: t105 - differ = False - solver = True - old_items = ['hperiod']
    try:
        t105 = hperiod(t84)
    except (TypeError, AttributeError, ValueError):
        t105 = _get_safe_default(hperiod)
    o.append((105, False, '90c82409', t105))
    # Pre-mutate: t106 - differ = False - solver = True - old_items = ['merge_f']
    try:
        t106 = merge_f(t74)
    except (TypeError, AttributeError, ValueError):
        t106 = _get_safe_default(merge_f)
    # Pre-mutate: t107 - differ = False - solver = True - old_items = ['argmin_f']
    try:
        t107 = argmin_f(t71, righthalf)
    except (TypeError, AttributeError, ValueError):
        t107 = _get_safe_default(argmin_f)
    # Pre-mutate: t108 - differ = False - solver = True - old_items = ['center']
    try:
        t108 = center(t71)
    except (TypeError, AttributeError, ValueError):
        t108 = _get_safe_default(center)
    o.append((108, False, '90c82409', t108))
    # Pre-mutate: t109 - differ = False - solver = True - old_items = ['get_common_rank_f']
    try:
        t109 = get_common_rank_f(t80, t61)
    except (TypeError, AttributeError, ValueError):
        t109 = _get_safe_default(get_common_rank_f)
    # Pre-mutate: t110 - differ = False - solver = True - old_items = ['either']
    try:
        t110 = either(A8, t61)
    except (TypeError, AttributeError, ValueError):
        t110 = _get_safe_default(either)
    s.append((110, '90c82409', 'differ_80', t110))
    # Pre-mutate: t111 - differ = False - solver = True - old_items = ['rightmost_i']
    try:
        t111 = rightmost_i(t99)
    except (TypeError, AttributeError, ValueError):
        t111 = _get_safe_default(rightmost_i)
    o.append((111, False, '90c82409', t111))
    # Pre-mutate: t112 - differ = False - solver = True - old_items = ['corner']
    try:
        t112 = corner(t78, t72)
    except (TypeError, AttributeError, ValueError):
        t112 = _get_safe_default(corner)
    # Pre-mutate: t113 - differ = False - solver = True - old_items = ['apply']
    try:
        t113 = apply(sfilter, S)
    except (TypeError, AttributeError, ValueError):
        t113 = _get_safe_default(apply)
    # Pre-mutate: t114 - differ = False - solver = True - old_items = ['ascell']
    try:
        t114 = ascell(t107, L3)
    except (TypeError, AttributeError, ValueError):
        t114 = _get_safe_default(ascell)
    o.append((114, False, '90c82409', t114))
    # Pre-mutate: t115 - differ = False - solver = True - old_items = ['fgpartition']
    try:
        t115 = fgpartition(t45)
    except (TypeError, AttributeError, ValueError):
        t115 = _get_safe_default(fgpartition)
    # Pre-mutate: t116 - differ = False - solver = True - old_items = ['initset']
    try:
        t116 = initset(t97)
    except (TypeError, AttributeError, ValueError):
        t116 = _get_safe_default(initset)
    # Pre-mutate: t117 - differ = False - solver = True - old_items = ['hmirror_f']
    try:
        t117 = hmirror_f(t93)
    except (TypeError, AttributeError, ValueError):
        t117 = _get_safe_default(hmirror_f)
    o.append((117, False, '90c82409', t117))
    # Pre-mutate: t118 - differ = False - solver = True - old_items = ['leftmost_o']
    try:
        t118 = leftmost_o(t78)
    except (TypeError, AttributeError, ValueError):
        t118 = _get_safe_default(leftmost_o)
    # Pre-mutate: t119 - differ = False - solver = True - old_items = ['c_branch']
    try:
        t119 = c_branch(SIX, F4, t61)
    except (TypeError, AttributeError, ValueError):
        t119 = _get_safe_default(c_branch)
    # Pre-mutate: t120 - differ = False - solver = True - old_items = ['partition']
    try:
        t120 = partition(t69)
    except (TypeError, AttributeError, ValueError):
        t120 = _get_safe_default(partition)
    o.append((120, False, '90c82409', t120))
    s.append((120, '90c82409', 'differ_90', t120))
    return o, s
