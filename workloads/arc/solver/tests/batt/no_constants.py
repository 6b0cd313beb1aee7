# The constants are not imported: Python raises a NameError in every call.
from dsl import *
from safe_dsl import _get_safe_default

def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    t1 = o_g(I, R5)
    t2 = get_nth_f(t1, F0)
    t3 = subgrid(t2, I)
    o.append((3, True, '90c82409', t3))
    return o, s
