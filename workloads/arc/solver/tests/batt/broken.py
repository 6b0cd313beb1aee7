# Not Python: one line is indented and no block was opened.
from pile import *

def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    # t1 - differ = False
        t1 = identity(I)
    o.append((1, False, '90c82409', t1))
    return o, s
