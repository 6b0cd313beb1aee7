# Writes a table of n questions about lattices of many shapes; some have everything between the ends
# blocked, some are invalid.
function below(n) {
    state = (state * 16807) % 2147483647
    return int(state / 7) % n
}
BEGIN {
    state = 88172645
    print "id,size,from,to,blocked"
    for (number = 0; number < n; number++) {
        size = ""
        n_vertices = 1
        for (axis = below(4); axis >= 0; axis--) {
            extent = 2 + below(7)
            n_vertices *= extent
            size = size (size == "" ? "" : "x") extent
        }
        blocked = ""
        for (left = below(1 + int(n_vertices / 2)); left > 0; left--) {
            blocked = blocked (blocked == "" ? "" : " ") below(n_vertices)
        }
        print "q" number "," size "," below(n_vertices) "," below(n_vertices) "," blocked
    }
}
