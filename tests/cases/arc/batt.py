def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    t1 = equality(I, C)
    t2 = branch(t1, THOUSAND, ZERO)
    t3 = astuple(t2, C)
    s.append((3, 'None', 'differ_same', t3))
    t4 = size(I)
    t5 = astuple(t4, I)
    s.append((5, 'None', 'differ_size', t5))
    t6 = mir_rot_t(I, R2)
    t7 = hconcat(I, t6)
    o.append((7, True, '01fce304', t7))
    t8 = equality(t7, C)
    t9 = branch(t8, THOUSAND, NEG_ONE)
    t10 = astuple(t9, t8)
    s.append((10, '01fce304', 'differ_same', t10))
    t11 = astuple(t8, t8)
    s.append((11, '01fce304', 'differ_size', t11))
    t12 = identity(C)
    o.append((12, False, 'cheat', t12))
    t13 = mir_rot_t(I, R0)
    o.append((13, False, '01fce304', t13))
    return o, s
