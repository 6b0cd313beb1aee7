# A call of a number leaves the function: the whole call is lost.
from pile import *
from safe_dsl import _get_safe_default

def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    t1 = identity(I)
    o.append((1, False, '90c82409', t1))
    t2 = TWO(t1)
    return o, s
