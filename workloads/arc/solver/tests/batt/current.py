# Lines chosen at random, made for this project.

from dsl import *
from constants import *
from safe_dsl import _get_safe_default

def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    # - Arg change: identity -> identity
    try:
        t1 = identity(p_g)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t1 = _get_safe_default(identity)
    # - Arg change: t1 -> t1
    try:
        t2 = t1(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t2 = _get_safe_default(t1)
    # - Arg change: t1 -> t1
    try:
        t3 = t1(C)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t3 = _get_safe_default(t1)
    # - Arg change: difference_tuple -> difference_tuple
    try:
        t4 = difference_tuple(t3, t2)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t4 = _get_safe_default(difference_tuple)
    # - Arg change: size -> size
    try:
        t5 = size(t4)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t5 = _get_safe_default(size)
    # - Arg change: get_nth_t -> get_nth_t
    try:
        t6 = get_nth_t(t4, F0)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t6 = _get_safe_default(get_nth_t)
    # - Arg change: astuple -> astuple
    try:
        t7 = astuple(t5, t6)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t7 = _get_safe_default(astuple)
    s.append((7, 'None', 'differ_colors', t7))
    # - Arg change: rbind -> rbind
    try:
        t8 = rbind(o_g, R5)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t8 = _get_safe_default(rbind)
    # - Arg change: t8 -> t8
    try:
        t9 = t8(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t9 = _get_safe_default(t8)
    # - Arg change: t8 -> t8
    try:
        t10 = t8(C)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t10 = _get_safe_default(t8)
    # - Arg change: difference -> difference
    try:
        t11 = difference(t9, t10)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t11 = _get_safe_default(difference)
    # - Arg change: size -> size
    try:
        t12 = size(t11)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t12 = _get_safe_default(size)
    # - Arg change: get_nth_f -> get_nth_f
    try:
        t13 = get_nth_f(t11, F0)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t13 = _get_safe_default(get_nth_f)
    # - Arg change: astuple -> astuple
    try:
        t14 = astuple(t12, t13)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t14 = _get_safe_default(astuple)
    s.append((14, 'None', 'differ_objects', t14))
    # - Arg change: apply -> apply
    try:
        t21 = apply(first, S)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t21 = _get_safe_default(apply)
    # - Arg change: apply -> apply
    try:
        t22 = apply(second, S)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t22 = _get_safe_default(apply)
    # - Arg change: mapply -> mapply
    try:
        t23 = mapply(p_g, t21)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t23 = _get_safe_default(mapply)
    # - Arg change: mapply -> mapply
    try:
        t24 = mapply(p_g, t22)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t24 = _get_safe_default(mapply)
    # - Arg change: dedupe -> dedupe
    try:
        t25 = dedupe(t23)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t25 = _get_safe_default(dedupe)
    # - Arg change: dedupe -> dedupe
    try:
        t26 = dedupe(t24)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t26 = _get_safe_default(dedupe)
    # - Arg change: difference_tuple -> difference_tuple
    try:
        t27 = difference_tuple(t26, t25)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t27 = _get_safe_default(difference_tuple)
    # - Arg change: get_nth_t -> get_nth_t
    try:
        t28 = get_nth_t(t27, F0)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t28 = _get_safe_default(get_nth_t)
    # - Arg change: replace -> replace
    try:
        t29 = replace(I, BLACK, t28)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t29 = _get_safe_default(replace)
    o.append((29, True, 'd339a1cf', t29))
    # - Arg change: combine_t -> combine_t
    try:
        t31 = combine_t(S, I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t31 = _get_safe_default(combine_t)
    # - Arg change: height_i -> height_i
    try:
        t32 = height_i(t31)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t32 = _get_safe_default(height_i)
    # - Arg change: objects -> objects
    try:
        t33 = objects(I, t32, t32, NEG_TEN)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t33 = _get_safe_default(objects)
    o.append((33, False, 'd339a1cf', t33))
    # - Arg change: normalize_t -> normalize_t
    try:
        t34 = normalize_t(DOWN_LEFT)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t34 = _get_safe_default(normalize_t)
    # - Arg change: tojvec -> tojvec
    try:
        t35 = tojvec(F)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t35 = _get_safe_default(tojvec)
    # - Arg change: order -> order
    try:
        t36 = order(I, width_f)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t36 = _get_safe_default(order)
    o.append((36, False, 'd339a1cf', t36))
    # - Arg change: portrait_t -> portrait_t
    try:
        t37 = portrait_t(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t37 = _get_safe_default(portrait_t)
    # - Arg change: rot180 -> rot180
    try:
        t38 = rot180(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t38 = _get_safe_default(rot180)
    # - Arg change: toij -> toij
    try:
        t39 = toij(t34)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t39 = _get_safe_default(toij)
    o.append((39, False, 'd339a1cf', t39))
    # - Arg change: valmax -> valmax
    try:
        t40 = valmax(t31, leastcolor_t)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t40 = _get_safe_default(valmax)
    s.append((40, 'd339a1cf', 'differ_10', t40))
    # - Arg change: mostcolor_t -> mostcolor_t
    try:
        t41 = mostcolor_t(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t41 = _get_safe_default(mostcolor_t)
    # - Arg change: hperiod -> hperiod
    try:
        t42 = hperiod(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t42 = _get_safe_default(hperiod)
    o.append((42, False, 'd339a1cf', t42))
    # - Arg change: pair -> pair
    try:
        t43 = pair(t36, t39)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t43 = _get_safe_default(pair)
    # - Arg change: partition -> partition
    try:
        t44 = partition(t38)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t44 = _get_safe_default(partition)
    # - Arg change: corners -> corners
    try:
        t45 = corners(t35)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t45 = _get_safe_default(corners)
    o.append((45, False, 'd339a1cf', t45))
    # - Arg change: hfrontier -> hfrontier
    try:
        t46 = hfrontier(NEG_UNITY)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t46 = _get_safe_default(hfrontier)
    # - Arg change: mir_rot_t -> mir_rot_t
    try:
        t47 = mir_rot_t(A7, t43)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t47 = _get_safe_default(mir_rot_t)
    # - Arg change: uppermost_o -> uppermost_o
    try:
        t48 = uppermost_o(t45)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t48 = _get_safe_default(uppermost_o)
    o.append((48, False, 'd339a1cf', t48))
    # - Arg change: vsplit -> vsplit
    try:
        t49 = vsplit(t36, t47)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t49 = _get_safe_default(vsplit)
    # - Arg change: underfill -> underfill
    try:
        t50 = underfill(t36, t40, t32)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t50 = _get_safe_default(underfill)
    s.append((50, 'd339a1cf', 'differ_20', t50))
    # - Arg change: objects_t -> objects_t
    try:
        t51 = objects_t(t50, T, T, t42)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t51 = _get_safe_default(objects_t)
    o.append((51, False, 'd339a1cf', t51))
    # - Arg change: leastcommon_f -> leastcommon_f
    try:
        t52 = leastcommon_f(t33)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t52 = _get_safe_default(leastcommon_f)
    # - Arg change: fork -> fork
    try:
        t53 = fork(mostcolor_f, ulcorner_o, bottomhalf)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t53 = _get_safe_default(fork)
    # - Arg change: replace -> replace
    try:
        t54 = replace(t50, t38, F9)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t54 = _get_safe_default(replace)
    o.append((54, False, 'd339a1cf', t54))
    # - Arg change: t53 -> t53
    try:
        t55 = t53(t31)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t55 = _get_safe_default(t53)
    # - Arg change: size -> size
    try:
        t56 = size(t51)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t56 = _get_safe_default(size)
    # - Arg change: argmax_t -> argmax_t
    try:
        t57 = argmax_t(t51, t37)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t57 = _get_safe_default(argmax_t)
    o.append((57, False, 'd339a1cf', t57))
    # - Arg change: underfill -> underfill
    try:
        t58 = underfill(t38, F6, t52)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t58 = _get_safe_default(underfill)
    # - Arg change: rbind -> rbind
    try:
        t59 = rbind(t47, NEG_UNITY)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t59 = _get_safe_default(rbind)
    # - Arg change: lbind -> lbind
    try:
        t60 = lbind(intersection, t39)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t60 = _get_safe_default(lbind)
    o.append((60, False, 'd339a1cf', t60))
    s.append((60, 'd339a1cf', 'differ_30', t60))
    # - Arg change: pair -> pair
    try:
        t61 = pair(TWO_BY_ZERO, t49)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t61 = _get_safe_default(pair)
    # - Arg change: square_t -> square_t
    try:
        t62 = square_t(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t62 = _get_safe_default(square_t)
    # - Arg change: objects -> objects
    try:
        t63 = objects(I, F, F, SIX)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t63 = _get_safe_default(objects)
    o.append((63, False, 'd339a1cf', t63))
    # - Arg change: toindices -> toindices
    try:
        t64 = toindices(t46)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t64 = _get_safe_default(toindices)
    # - Arg change: merge_t -> merge_t
    try:
        t65 = merge_t(t33)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t65 = _get_safe_default(merge_t)
    # - Arg change: urcorner_i -> urcorner_i
    try:
        t66 = urcorner_i(t64)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t66 = _get_safe_default(urcorner_i)
    o.append((66, False, 'd339a1cf', t66))
    # - Arg change: other_f -> other_f
    try:
        t67 = other_f(t35, t51)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t67 = _get_safe_default(other_f)
    # - Arg change: height_o -> height_o
    try:
        t68 = height_o(R0)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t68 = _get_safe_default(height_o)
    # - Arg change: intersection -> intersection
    try:
        t69 = intersection(A5, t32)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t69 = _get_safe_default(intersection)
    o.append((69, False, 'd339a1cf', t69))
    # - Arg change: crement -> crement
    try:
        t70 = crement(t66)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t70 = _get_safe_default(crement)
    s.append((70, 'd339a1cf', 'differ_40', t70))
    # - Arg change: tojvec -> tojvec
    try:
        t71 = tojvec(t48)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t71 = _get_safe_default(tojvec)
    # - Arg change: inbox -> inbox
    try:
        t72 = inbox(t64)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t72 = _get_safe_default(inbox)
    o.append((72, False, 'd339a1cf', t72))
    # - Arg change: rightmost_o -> rightmost_o
    try:
        t73 = rightmost_o(t52)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t73 = _get_safe_default(rightmost_o)
    # - Arg change: other -> other
    try:
        t74 = other(t64, ZERO_BY_TWO)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t74 = _get_safe_default(other)
    # - Arg change: last -> last
    try:
        t75 = last(t52)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t75 = _get_safe_default(last)
    o.append((75, False, 'd339a1cf', t75))
    # - Arg change: other -> other
    try:
        t76 = other(t31, t33)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t76 = _get_safe_default(other)
    # - Arg change: maximum -> maximum
    try:
        t77 = maximum(t65)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t77 = _get_safe_default(maximum)
    # - Arg change: ulcorner_i -> ulcorner_i
    try:
        t78 = ulcorner_i(t65)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t78 = _get_safe_default(ulcorner_i)
    o.append((78, False, 'd339a1cf', t78))
    # - Arg change: cmirror_f -> cmirror_f
    try:
        t79 = cmirror_f(t52)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t79 = _get_safe_default(cmirror_f)
    # - Arg change: branch -> branch
    try:
        t80 = branch(t32, t34, S)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t80 = _get_safe_default(branch)
    s.append((80, 'd339a1cf', 'differ_50', t80))
    # - Arg change: bottomhalf -> bottomhalf
    try:
        t81 = bottomhalf(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t81 = _get_safe_default(bottomhalf)
    o.append((81, False, 'd339a1cf', t81))
    # - Arg change: toivec -> toivec
    try:
        t82 = toivec(t73)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t82 = _get_safe_default(toivec)
    # - Arg change: mir_rot_f -> mir_rot_f
    try:
        t83 = mir_rot_f(t81, t56)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t83 = _get_safe_default(mir_rot_f)
    # - Arg change: mostcolor_f -> mostcolor_f
    try:
        t84 = mostcolor_f(t79)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t84 = _get_safe_default(mostcolor_f)
    o.append((84, False, 'd339a1cf', t84))
    # - Arg change: t53 -> t53
    try:
        t85 = t53(t64)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t85 = _get_safe_default(t53)
    # - Arg change: merge_t -> merge_t
    try:
        t86 = merge_t(t33)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t86 = _get_safe_default(merge_t)
    # - Arg change: righthalf -> righthalf
    try:
        t87 = righthalf(I)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t87 = _get_safe_default(righthalf)
    o.append((87, False, 'd339a1cf', t87))
    # - Arg change: fgpartition -> fgpartition
    try:
        t88 = fgpartition(t38)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t88 = _get_safe_default(fgpartition)
    # - Arg change: tojvec -> tojvec
    try:
        t89 = tojvec(THREE)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t89 = _get_safe_default(tojvec)
    # - Arg change: rightmost_i -> rightmost_i
    try:
        t90 = rightmost_i(lrcorner_o)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t90 = _get_safe_default(rightmost_i)
    o.append((90, False, 'd339a1cf', t90))
    s.append((90, 'd339a1cf', 'differ_60', t90))
    # - Arg change: fork -> fork
    try:
        t91 = fork(t53, t53, vline_i)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t91 = _get_safe_default(fork)
    # - Arg change: p_o -> p_o
    try:
        t92 = p_o(t65)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t92 = _get_safe_default(p_o)
    # - Arg change: lbind -> lbind
    try:
        t93 = lbind(pair, t53)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t93 = _get_safe_default(lbind)
    o.append((93, False, 'd339a1cf', t93))
    # - Arg change: astriple -> astriple
    try:
        t94 = astriple(A6, t85, A0)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t94 = _get_safe_default(astriple)
    # - Arg change: hupscale -> hupscale
    try:
        t95 = hupscale(t36, t48)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t95 = _get_safe_default(hupscale)
    # - Arg change: combine -> combine
    try:
        t96 = combine(t63, t70)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t96 = _get_safe_default(combine)
    o.append((96, False, 'd339a1cf', t96))
    # - Arg change: identity -> identity
    try:
        t97 = identity(t75)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t97 = _get_safe_default(identity)
    # - Arg change: backdrop -> backdrop
    try:
        t98 = backdrop(t72)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t98 = _get_safe_default(backdrop)
    # - Arg change: vmirror_o -> vmirror_o
    try:
        t99 = vmirror_o(t86)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t99 = _get_safe_default(vmirror_o)
    o.append((99, False, 'd339a1cf', t99))
    # - Arg change: corners -> corners
    try:
        t100 = corners(t65)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t100 = _get_safe_default(corners)
    s.append((100, 'd339a1cf', 'differ_70', t100))
    # - Arg change: rightmost -> rightmost
    try:
        t101 = rightmost(t46)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t101 = _get_safe_default(rightmost)
    # - Arg change: initset -> initset
    try:
        t102 = initset(t78)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t102 = _get_safe_default(initset)
    o.append((102, False, 'd339a1cf', t102))
    # - Arg change: crement -> crement
    try:
        t103 = crement(t57)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t103 = _get_safe_default(crement)
    # - Arg change: o_g -> o_g
    try:
        t104 = o_g(t54, R4)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t104 = _get_safe_default(o_g)
    # - Arg change: mir_rot_t -> mir_rot_t
    try:
        t105 = mir_rot_t(t87, t45)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t105 = _get_safe_default(mir_rot_t)
    o.append((105, False, 'd339a1cf', t105))
    # - Arg change: normalize_i -> normalize_i
    try:
        t106 = normalize_i(t98)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t106 = _get_safe_default(normalize_i)
    # - Arg change: combine_t -> combine_t
    try:
        t107 = combine_t(t70, t77)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t107 = _get_safe_default(combine_t)
    # - Arg change: totuple -> totuple
    try:
        t108 = totuple(t45)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t108 = _get_safe_default(totuple)
    o.append((108, False, 'd339a1cf', t108))
    # - Arg change: urcorner_o -> urcorner_o
    try:
        t109 = urcorner_o(t79)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t109 = _get_safe_default(urcorner_o)
    # - Arg change: vmirror_o -> vmirror_o
    try:
        t110 = vmirror_o(t102)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t110 = _get_safe_default(vmirror_o)
    s.append((110, 'd339a1cf', 'differ_80', t110))
    # - Arg change: hfrontier -> hfrontier
    try:
        t111 = hfrontier(t77)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t111 = _get_safe_default(hfrontier)
    o.append((111, False, 'd339a1cf', t111))
    # - Arg change: recolor_o -> recolor_o
    try:
        t112 = recolor_o(A6, t110)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t112 = _get_safe_default(recolor_o)
    # - Arg change: frontiers -> frontiers
    try:
        t113 = frontiers(t103)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t113 = _get_safe_default(frontiers)
    # - Arg change: mostcommon_f -> mostcommon_f
    try:
        t114 = mostcommon_f(t54)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t114 = _get_safe_default(mostcommon_f)
    o.append((114, False, 'd339a1cf', t114))
    # - Arg change: merge -> merge
    try:
        t115 = merge(t98)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t115 = _get_safe_default(merge)
    # - Arg change: box -> box
    try:
        t116 = box(t79)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t116 = _get_safe_default(box)
    # - Arg change: identity -> identity
    try:
        t117 = identity(t82)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t117 = _get_safe_default(identity)
    o.append((117, False, 'd339a1cf', t117))
    # - Arg change: hconcat -> hconcat
    try:
        t118 = hconcat(t50, t83)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t118 = _get_safe_default(hconcat)
    # - Arg change: argmin_f -> argmin_f
    try:
        t119 = argmin_f(t116, lrcorner)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t119 = _get_safe_default(argmin_f)
    # - Arg change: dmirror_t -> dmirror_t
    try:
        t120 = dmirror_t(t87)
    except (TypeError, AttributeError, ValueError, IndexError, KeyError):
        t120 = _get_safe_default(dmirror_t)
    o.append((120, False, 'd339a1cf', t120))
    s.append((120, 'd339a1cf', 'differ_90', t120))
    return o, s
