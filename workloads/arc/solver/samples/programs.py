"""Programs for the tasks beside this file, written for this project.

The first half solve a task each: `solve_<id>` belongs to `tasks/<id>.json`. The others are alternatives,
near misses and helpers, some of which fail on some pictures. Together they use every primitive.
"""

from dsl import *
from constants import *


# The picture beside its mirror image.
def solve_01fce304(I):
    x1 = vmirror(I)
    O = hconcat(I, x1)
    return O


# Every dot falls to the floor of its column.
def solve_8a0ab703(I):
    x1 = dmirror(I)
    x2 = rbind(order, sign)
    x3 = apply(x2, x1)
    O = dmirror(x3)
    return O


# The largest shape, cut out.
def solve_90c82409(I):
    x1 = objects(I, T, F, T)
    x2 = argmax(x1, size)
    O = subgrid(x2, I)
    return O


# The largest shape turns blue, the smallest red.
def solve_9ddf2f1b(I):
    x1 = objects(I, T, F, T)
    x2 = argmax(x1, size)
    x3 = argmin(x1, size)
    x4 = fill(I, ONE, x2)
    O = fill(x4, TWO, x3)
    return O


# A quilt of the picture and the picture turned by half.
def solve_728be683(I):
    x1 = rot180(I)
    x2 = hconcat(I, x1)
    x3 = hconcat(x1, I)
    O = vconcat(x2, x3)
    return O


# Each dot sends a ray up and to the right.
def solve_10cbef69(I):
    x1 = objects(I, T, F, T)
    x2 = rbind(shoot, UP_RIGHT)
    x3 = compose(x2, center)
    x4 = fork(recolor, color, x3)
    x5 = mapply(x4, x1)
    O = paint(I, x5)
    return O


# As many cells as there are shapes.
def solve_2586446a(I):
    x1 = objects(I, T, F, T)
    x2 = size(x1)
    x3 = leastcolor(I)
    x4 = astuple(ONE, x2)
    O = canvas(x3, x4)
    return O


# The picture inside the frame, twice as large.
def solve_a0eda500(I):
    x1 = trim(I)
    O = upscale(x1, TWO)
    return O


# The tile that a pattern repeats.
def solve_91ddbba7(I):
    x1 = asobject(I)
    x2 = vperiod(x1)
    x3 = hperiod(x1)
    x4 = astuple(x2, x3)
    O = crop(I, ORIGIN, x4)
    return O


# Rows and columns of one colour are taken away.
def solve_734969db(I):
    O = compress(I)
    return O


# What is marked on both sides of the grey line.
def solve_3ce492e8(I):
    x1 = lefthalf(I)
    x2 = righthalf(I)
    O = cellwise(x1, x2, ZERO)
    return O


# A ring around each shape, in its colour.
def solve_b0610b42(I):
    x1 = objects(I, T, F, T)
    x2 = fork(recolor, color, outbox)
    x3 = mapply(x2, x1)
    O = underpaint(I, x3)
    return O


# Each shape is filled up to its bounding box.
def solve_f331f255(I):
    x1 = objects(I, T, F, T)
    x2 = mapply(delta, x1)
    O = fill(I, SEVEN, x2)
    return O


# The empty lower half becomes the reflection of the upper one.
def solve_f7f689fd(I):
    x1 = hmirror(I)
    x2 = asobject(x1)
    O = underpaint(I, x2)
    return O


# The rarest and the commonest colour change places.
def solve_3d063681(I):
    x1 = leastcolor(I)
    x2 = mostcolor(I)
    O = switch(I, x1, x2)
    return O


# The middle of each rectangle is taken out.
def solve_45bb4090(I):
    x1 = objects(I, T, F, T)
    x2 = apply(center, x1)
    O = fill(I, ZERO, x2)
    return O


# The green shape moves until it touches the wall.
def solve_0a886352(I):
    x1 = objects(I, T, F, T)
    x2 = colorfilter(x1, THREE)
    x3 = first(x2)
    x4 = colorfilter(x1, EIGHT)
    x5 = first(x4)
    x6 = gravitate(x3, x5)
    O = move(I, x3, x6)
    return O


# Large pixels become single cells; the narrowest patch tells how large they are.
def solve_8a9ba78e(I):
    x1 = objects(I, T, F, F)
    x2 = valmin(x1, width)
    O = downscale(I, x2)
    return O


# The bars stand in order of height.
def solve_70216c3b(I):
    x1 = dmirror(I)
    x2 = lbind(remove, ZERO)
    x3 = compose(size, x2)
    x4 = order(x1, x3)
    O = dmirror(x4)
    return O


# The corners of each rectangle are marked.
def solve_49807bac(I):
    x1 = objects(I, T, F, T)
    x2 = mapply(corners, x1)
    O = fill(I, FOUR, x2)
    return O


# Each dot draws its row and its column; crossings are red.
def solve_0d258347(I):
    x1 = leastcolor(I)
    x2 = ofcolor(I, x1)
    x3 = mapply(hfrontier, x2)
    x4 = mapply(vfrontier, x2)
    x5 = combine(x3, x4)
    x6 = intersection(x3, x4)
    x7 = fill(I, x1, x5)
    O = fill(x7, TWO, x6)
    return O


# Each dot gets four petals and four leaves.
def solve_d339a1cf(I):
    x1 = ofcolor(I, THREE)
    x2 = mapply(dneighbors, x1)
    x3 = mapply(ineighbors, x1)
    x4 = fill(I, ONE, x2)
    O = fill(x4, TWO, x3)
    return O


# Every empty square of three by three is coloured.
def solve_c479b3a1(I):
    x1 = canvas(ZERO, THREE_BY_THREE)
    x2 = asobject(x1)
    x3 = occurrences(I, x2)
    x4 = asindices(x1)
    x5 = lbind(shift, x4)
    x6 = mapply(x5, x3)
    O = fill(I, TWO, x6)
    return O


# Shapes that touch the edge are removed.
def solve_c0dd6f79(I):
    x1 = objects(I, T, F, T)
    x2 = rbind(bordering, I)
    x3 = mfilter(x1, x2)
    O = cover(I, x3)
    return O


# A picture that stands is laid down.
def solve_b5136168(I):
    x1 = portrait(I)
    x2 = rot90(I)
    O = branch(x1, x2, I)
    return O


# The colours from the rarest to the commonest.
def solve_a1cada90(I):
    x1 = fgpartition(I)
    x2 = order(x1, size)
    x3 = apply(color, x2)
    x4 = rbind(canvas, UNITY)
    O = mapply(x4, x3)
    return O


# Repeated rows and columns are said once.
def solve_09796207(I):
    x1 = dedupe(I)
    x2 = dmirror(x1)
    x3 = dedupe(x2)
    O = dmirror(x3)
    return O


# Of three panels the one that differs.
def solve_4caccd22(I):
    x1 = hsplit(I, THREE)
    O = leastcommon(x1)
    return O


# The row goes down a flight of stairs.
def solve_bc28581c(I):
    x1 = width(I)
    x2 = interval(ZERO, x1, ONE)
    x3 = asobject(I)
    x4 = fork(astuple, identity, identity)
    x5 = apply(x4, x2)
    x6 = lbind(shift, x3)
    x7 = mapply(x6, x5)
    x8 = astuple(x1, x1)
    x9 = canvas(ZERO, x8)
    O = paint(x9, x7)
    return O


# Each cell becomes as wide as the number of colours.
def solve_e9faa65a(I):
    x1 = numcolors(I)
    O = hupscale(I, x1)
    return O


# Upright lines turn blue, flat lines red.
def solve_58abcc48(I):
    x1 = objects(I, T, F, T)
    x2 = mfilter(x1, vline)
    x3 = mfilter(x1, hline)
    x4 = fill(I, ONE, x2)
    O = fill(x4, TWO, x3)
    return O


# Everything but squares is removed.
def solve_4dc860aa(I):
    x1 = objects(I, T, F, T)
    x2 = compose(flip, square)
    x3 = mfilter(x1, x2)
    O = cover(I, x3)
    return O


# Mirrored at the other diagonal.
def solve_65d735c0(I):
    O = cmirror(I)
    return O


# The red shape goes right, one step for each grey cell.
def solve_8a14df7b(I):
    x1 = colorcount(I, FIVE)
    x2 = tojvec(x1)
    x3 = ofcolor(I, TWO)
    x4 = recolor(TWO, x3)
    O = move(I, x4, x2)
    return O


# A ring inside each rectangle.
def solve_cfbf7841(I):
    x1 = objects(I, T, F, T)
    x2 = mapply(inbox, x1)
    O = fill(I, THREE, x2)
    return O


# The shape that the red square touches turns red.
def solve_602004a3(I):
    x1 = objects(I, T, F, T)
    x2 = colorfilter(x1, TWO)
    x3 = first(x2)
    x4 = rbind(adjacent, x3)
    x5 = mfilter(x1, x4)
    O = fill(I, TWO, x5)
    return O


# The shape nearest to the grey mark, cut out.
def solve_a296aa1f(I):
    x1 = objects(I, T, F, T)
    x2 = colorfilter(x1, FIVE)
    x3 = first(x2)
    x4 = remove(x3, x1)
    x5 = rbind(manhattan, x3)
    x6 = argmin(x4, x5)
    O = subgrid(x6, I)
    return O


# A line from the blue dot through the red one.
def solve_816e6714(I):
    x1 = ofcolor(I, ONE)
    x2 = ofcolor(I, TWO)
    x3 = position(x1, x2)
    x4 = center(x1)
    x5 = shoot(x4, x3)
    O = underfill(I, THREE, x5)
    return O


# The upper half lies on the lower one.
def solve_55c4ec49(I):
    x1 = tophalf(I)
    x2 = bottomhalf(I)
    x3 = ofcolor(x1, ZERO)
    x4 = toobject(x3, x2)
    O = paint(x1, x4)
    return O


# Two rings around the dot, a gap before each.
def solve_3af21fc4(I):
    x1 = ofcolor(I, FOUR)
    x2 = power(outbox, TWO)
    x3 = x2(x1)
    x4 = x2(x3)
    x5 = combine(x3, x4)
    O = fill(I, NINE, x5)
    return O


# Every second empty cell turns grey.
def solve_b903fe14(I):
    x1 = asindices(I)
    x2 = fork(add, first, last)
    x3 = compose(even, x2)
    x4 = sfilter(x1, x3)
    O = underfill(I, FIVE, x4)
    return O


# Dots in one row or column are joined.
def solve_6837c88c(I):
    x1 = ofcolor(I, EIGHT)
    x2 = prapply(connect, x1, x1)
    x3 = fork(either, vline, hline)
    x4 = mfilter(x2, x3)
    O = underfill(I, ONE, x4)
    return O


# The shape moves into the upper left corner.
def solve_4546c229(I):
    x1 = objects(I, T, F, T)
    x2 = first(x1)
    x3 = ulcorner(x2)
    x4 = invert(x3)
    O = move(I, x2, x4)
    return O


# Green for an even number of dots, yellow for an odd one.
def solve_bb049c3e(I):
    x1 = objects(I, T, F, T)
    x2 = size(x1)
    x3 = even(x2)
    x4 = branch(x3, THREE, FOUR)
    O = replace(I, ONE, x4)
    return O


# Another way to the pair: both images are painted on a canvas.
def solve_36991402(I):
    x1 = asobject(I)
    x2 = vmirror(x1)
    x3 = width(I)
    x4 = tojvec(x3)
    x5 = shift(x2, x4)
    x6 = double(x3)
    x7 = height(I)
    x8 = astuple(x7, x6)
    x9 = canvas(ZERO, x8)
    x10 = paint(x9, x1)
    O = paint(x10, x5)
    return O


# A near miss: mirrored at the wrong axis.
def solve_1c226292(I):
    x1 = hmirror(I)
    O = hconcat(I, x1)
    return O


# Another way to the largest shape: the last in order of size.
def solve_d2b9a3d5(I):
    x1 = objects(I, T, F, T)
    x2 = order(x1, size)
    x3 = last(x2)
    x4 = ulcorner(x3)
    x5 = shape(x3)
    O = crop(I, x4, x5)
    return O


# A near miss: the shape with the largest bounding box.
def solve_52b2f5b8(I):
    x1 = objects(I, T, F, T)
    x2 = compose(size, backdrop)
    x3 = argmax(x1, x2)
    O = subgrid(x3, I)
    return O


# Another way: the sizes are found first, then the shapes that have them.
def solve_0824ef9f(I):
    x1 = objects(I, T, F, T)
    x2 = apply(size, x1)
    x3 = maximum(x2)
    x4 = minimum(x2)
    x5 = sizefilter(x1, x3)
    x6 = sizefilter(x1, x4)
    x7 = merge(x5)
    x8 = merge(x6)
    x9 = fill(I, ONE, x7)
    O = fill(x9, TWO, x8)
    return O


# Another way to the quilt, by quarter turns.
def solve_61646d44(I):
    x1 = power(rot90, TWO)
    x2 = x1(I)
    x3 = rot270(I)
    x4 = rot270(x3)
    x5 = hconcat(I, x4)
    x6 = hconcat(x2, I)
    O = vconcat(x5, x6)
    return O


# A near miss: the rays go up and to the left.
def solve_effc0002(I):
    x1 = fgpartition(I)
    x2 = merge(x1)
    x3 = rbind(shoot, NEG_UNITY)
    x4 = chain(x3, first, initset)
    x5 = compose(x4, last)
    x6 = fork(recolor, first, x5)
    x7 = mapply(x6, x2)
    O = paint(I, x7)
    return O


# Another way to count: the colour is repeated.
def solve_f6909a44(I):
    x1 = objects(I, T, F, T)
    x2 = size(x1)
    x3 = first(x1)
    x4 = color(x3)
    x5 = repeat(x4, x2)
    O = repeat(x5, ONE)
    return O


# A near miss: shapes that touch at a corner count as one, and the bar stands.
def solve_7e3c8dca(I):
    x1 = objects(I, T, T, T)
    x2 = size(x1)
    x3 = toivec(x2)
    x4 = add(x3, RIGHT)
    x5 = leastcolor(I)
    O = canvas(x5, x4)
    return O


# Another way out of the frame: cut, then stretch both ways.
def solve_1bf510cd(I):
    x1 = shape(I)
    x2 = subtract(x1, TWO_BY_TWO)
    x3 = crop(I, UNITY, x2)
    x4 = hupscale(x3, TWO)
    O = vupscale(x4, TWO)
    return O


# A near miss: takes it that the tile is repeated twice.
def solve_c2ecd932(I):
    x1 = shape(I)
    x2 = halve(x1)
    O = crop(I, ORIGIN, x2)
    return O


# A near miss: the bars turn black but stay.
def solve_4e82742d(I):
    x1 = frontiers(I)
    x2 = merge(x1)
    O = fill(I, ZERO, x2)
    return O


# Another way to both halves: the places are intersected.
def solve_407daccb(I):
    x1 = hsplit(I, TWO)
    x2 = first(x1)
    x3 = last(x1)
    x4 = ofcolor(x2, THREE)
    x5 = ofcolor(x3, THREE)
    x6 = intersection(x4, x5)
    x7 = shape(x2)
    x8 = canvas(ZERO, x7)
    O = fill(x8, THREE, x6)
    return O


# A near miss: what is marked on either side.
def solve_7b0e1d6e(I):
    x1 = lefthalf(I)
    x2 = righthalf(I)
    x3 = ofcolor(x1, THREE)
    x4 = ofcolor(x2, THREE)
    x5 = combine(x3, x4)
    O = fill(x1, THREE, x5)
    return O


# A near miss: the box itself and not the ring around it.
def solve_be21a7a7(I):
    x1 = objects(I, T, T, T)
    x2 = fork(recolor, color, box)
    x3 = mapply(x2, x1)
    O = underpaint(I, x3)
    return O


# Another way: whole boxes are laid under the shapes.
def solve_b071c32c(I):
    x1 = objects(I, T, F, T)
    x2 = mapply(backdrop, x1)
    O = underfill(I, SEVEN, x2)
    return O


# Another way: the upper half is mirrored and put below.
def solve_2afff10f(I):
    x1 = vsplit(I, TWO)
    x2 = first(x1)
    x3 = hmirror(x2)
    O = vconcat(x2, x3)
    return O


# A near miss: takes it that there are two colours only.
def solve_49b5e10b(I):
    x1 = palette(I)
    x2 = leastcolor(I)
    x3 = other(x1, x2)
    O = switch(I, x2, x3)
    return O


# Another way to the middle: the centre of mass.
def solve_76b49075(I):
    x1 = objects(I, T, F, T)
    x2 = apply(centerofmass, x1)
    O = fill(I, ZERO, x2)
    return O


# A near miss: one step into the wall.
def solve_c779cc3c(I):
    x1 = objects(I, T, F, T)
    x2 = matcher(color, THREE)
    x3 = extract(x1, x2)
    x4 = other(x1, x3)
    x5 = gravitate(x3, x4)
    x6 = crement(x5)
    O = move(I, x3, x6)
    return O


# A helper: the green shape alone, without the ground; fails where nothing is green.
def solve_65dc8518(I):
    x1 = partition(I)
    x2 = matcher(color, THREE)
    x3 = extract(x1, x2)
    x4 = normalize(x3)
    x5 = shape(x4)
    x6 = canvas(ZERO, x5)
    O = paint(x6, x4)
    return O


# Another way: the height of the flattest patch.
def solve_ac9fd3f6(I):
    x1 = partition(I)
    x2 = objects(I, T, F, F)
    x3 = apply(height, x2)
    x4 = minimum(x3)
    x5 = size(x1)
    x6 = greater(x5, ZERO)
    x7 = branch(x6, x4, ONE)
    O = downscale(I, x7)
    return O


# A near miss: from the tallest to the lowest.
def solve_a31534e2(I):
    x1 = dmirror(I)
    x2 = lbind(remove, ZERO)
    x3 = chain(invert, size, x2)
    x4 = order(x1, x3)
    O = dmirror(x4)
    return O


# Another way: four functions, one for each corner.
def solve_df58c99c(I):
    x1 = astuple(ulcorner, urcorner)
    x2 = astuple(llcorner, lrcorner)
    x3 = combine(x1, x2)
    x4 = lbind(rapply, x3)
    x5 = objects(I, T, F, T)
    x6 = totuple(x5)
    x7 = mapply(x4, x6)
    O = fill(I, FOUR, x7)
    return O


# A near miss: lines in four directions, crossings not marked.
def solve_918d7a28(I):
    x1 = leastcolor(I)
    x2 = ofcolor(I, x1)
    x3 = rbind(shoot, UP)
    x4 = rbind(shoot, DOWN)
    x5 = rbind(shoot, LEFT)
    x6 = rbind(shoot, RIGHT)
    x7 = fork(combine, x3, x4)
    x8 = fork(combine, x5, x6)
    x9 = fork(combine, x7, x8)
    x10 = mapply(x9, x2)
    O = fill(I, x1, x10)
    return O


# Another way: the leaves are what is left of the eight neighbours.
def solve_d6378081(I):
    x1 = ofcolor(I, THREE)
    x2 = mapply(neighbors, x1)
    x3 = mapply(dneighbors, x1)
    x4 = difference(x2, x3)
    x5 = fill(I, ONE, x3)
    O = fill(x5, TWO, x4)
    return O


# A near miss: squares of two by two are enough.
def solve_8082fe4d(I):
    x1 = canvas(ZERO, TWO_BY_TWO)
    x2 = asobject(x1)
    x3 = occurrences(I, x2)
    x4 = toindices(x2)
    x5 = lbind(shift, x4)
    x6 = mapply(x5, x3)
    O = fill(I, TWO, x6)
    return O


# Another way: each side of the picture is looked at.
def solve_732713d5(I):
    x1 = objects(I, T, F, T)
    x2 = shape(I)
    x3 = decrement(x2)
    x4 = first(x3)
    x5 = last(x3)
    x6 = matcher(uppermost, ZERO)
    x7 = matcher(leftmost, ZERO)
    x8 = matcher(lowermost, x4)
    x9 = matcher(rightmost, x5)
    x10 = fork(either, x6, x7)
    x11 = fork(either, x8, x9)
    x12 = fork(either, x10, x11)
    x13 = sfilter(x1, x12)
    x14 = merge(x13)
    O = cover(I, x14)
    return O


# Another way: height and width are compared.
def solve_a4a3cd05(I):
    x1 = height(I)
    x2 = width(I)
    x3 = subtract(x1, x2)
    x4 = positive(x3)
    x5 = branch(x4, rot90, identity)
    O = x5(I)
    return O


# A near miss: turned the wrong way.
def solve_768798ff(I):
    x1 = portrait(I)
    x2 = rot270(I)
    O = branch(x1, x2, I)
    return O


# A near miss: the ground counts as a colour.
def solve_5eeb3c48(I):
    x1 = partition(I)
    x2 = order(x1, size)
    x3 = apply(color, x2)
    x4 = rbind(canvas, UNITY)
    O = mapply(x4, x3)
    return O


# A near miss: only rows are looked at.
def solve_d6e30b12(I):
    O = dedupe(I)
    return O


# Another way: not the panel that occurs twice.
def solve_69b09304(I):
    x1 = hsplit(I, THREE)
    x2 = mostcommon(x1)
    O = other(x1, x2)
    return O


# Another way down the stairs: copies are zipped with their steps.
def solve_82afa7df(I):
    x1 = width(I)
    x2 = interval(ZERO, x1, ONE)
    x3 = pair(x2, x2)
    x4 = asobject(I)
    x5 = repeat(x4, x1)
    x6 = mpapply(shift, x5, x3)
    x7 = multiply(UNITY, x1)
    x8 = canvas(ZERO, x7)
    O = paint(x8, x6)
    return O


# A helper: the stairs as a tuple of moved rows, not as a picture.
def solve_324862d0(I):
    x1 = width(I)
    x2 = interval(ZERO, x1, ONE)
    x3 = apply(toivec, x2)
    x4 = asobject(I)
    x5 = repeat(x4, x1)
    O = papply(shift, x5, x3)
    return O


# A near miss: the colours are counted without the ground.
def solve_9f89d6b1(I):
    x1 = numcolors(I)
    x2 = decrement(x1)
    O = hupscale(I, x2)
    return O


# Another way: what is not upright is flat.
def solve_3a65ce8e(I):
    x1 = objects(I, T, F, T)
    x2 = sfilter(x1, portrait)
    x3 = difference(x1, x2)
    x4 = merge(x2)
    x5 = merge(x3)
    x6 = fill(I, ONE, x4)
    O = fill(x6, TWO, x5)
    return O


# A near miss: only squares of four cells stay.
def solve_6b8f28f3(I):
    x1 = objects(I, T, F, T)
    x2 = sizefilter(x1, FOUR)
    x3 = merge(x2)
    x4 = merge(x1)
    x5 = difference(x4, x3)
    O = cover(I, x5)
    return O


# Another way: the other diagonal by a half turn.
def solve_2cb93006(I):
    x1 = dmirror(I)
    O = rot180(x1)
    return O


# A near miss: one step too many.
def solve_0afacfe7(I):
    x1 = colorcount(I, FIVE)
    x2 = increment(x1)
    x3 = tojvec(x2)
    x4 = ofcolor(I, TWO)
    x5 = toobject(x4, I)
    x6 = cover(I, x5)
    x7 = shift(x5, x3)
    O = paint(x6, x7)
    return O


# Another way: the outline of what remains without the outline.
def solve_a5c742b4(I):
    x1 = objects(I, T, F, T)
    x2 = fork(difference, backdrop, box)
    x3 = compose(box, x2)
    x4 = mapply(x3, x1)
    O = fill(I, THREE, x4)
    return O


# Another way: shapes at distance one from the red square.
def solve_4318fa8d(I):
    x1 = objects(I, T, F, T)
    x2 = ofcolor(I, TWO)
    x3 = rbind(manhattan, x2)
    x4 = matcher(x3, ONE)
    x5 = extract(x1, x4)
    x6 = recolor(TWO, x5)
    O = paint(I, x6)
    return O


# A near miss: only shapes that share a row with the red square.
def solve_ff42d293(I):
    x1 = objects(I, T, F, T)
    x2 = ofcolor(I, TWO)
    x3 = rbind(hmatching, x2)
    x4 = rbind(vmatching, x2)
    x5 = compose(flip, x4)
    x6 = fork(both, x3, x5)
    x7 = mfilter(x1, x6)
    O = fill(I, TWO, x7)
    return O


# Another way: the smallest distance, then the shape that has it.
def solve_dbdfd94c(I):
    x1 = objects(I, T, F, T)
    x2 = matcher(color, FIVE)
    x3 = extract(x1, x2)
    x4 = remove(x3, x1)
    x5 = rbind(manhattan, x3)
    x6 = valmin(x4, x5)
    x7 = matcher(x5, x6)
    x8 = extract(x4, x7)
    O = subgrid(x8, I)
    return O


# A near miss: the shape farthest from the mark.
def solve_9d17c591(I):
    x1 = objects(I, T, F, T)
    x2 = ofcolor(I, FIVE)
    x3 = rbind(manhattan, x2)
    x4 = valmax(x1, x3)
    x5 = matcher(x3, x4)
    x6 = extract(x1, x5)
    O = subgrid(x6, I)
    return O


# A near miss: the line ends at the red dot.
def solve_496deb1f(I):
    x1 = ofcolor(I, ONE)
    x2 = ofcolor(I, TWO)
    x3 = first(x1)
    x4 = first(x2)
    x5 = connect(x3, x4)
    O = underfill(I, THREE, x5)
    return O


# Another way: the lower half is laid under the upper one.
def solve_616b7eff(I):
    x1 = tophalf(I)
    x2 = bottomhalf(I)
    x3 = asobject(x2)
    O = underpaint(x1, x3)
    return O


# A near miss: rings without gaps.
def solve_014e80bc(I):
    x1 = ofcolor(I, FOUR)
    x2 = outbox(x1)
    x3 = outbox(x2)
    x4 = insert(x2, initset(x3))
    x5 = merge(x4)
    O = fill(I, NINE, x5)
    return O


# Another way: every second place of every second row, and the same one step further.
def solve_e441cf13(I):
    x1 = interval(ZERO, 30, TWO)
    x2 = product(x1, x1)
    x3 = shift(x2, UNITY)
    x4 = combine(x2, x3)
    O = underfill(I, FIVE, x4)
    return O


# A near miss: dots are joined along diagonals too.
def solve_b5931756(I):
    x1 = ofcolor(I, EIGHT)
    x2 = prapply(connect, x1, x1)
    x3 = merge(x2)
    O = underfill(I, ONE, x3)
    return O


# Another way: the shape is taken off and put back at the origin.
def solve_fcefec0a(I):
    x1 = leastcolor(I)
    x2 = ofcolor(I, x1)
    x3 = cover(I, x2)
    x4 = normalize(x2)
    O = fill(x3, x1, x4)
    return O


# Another way: the count is divided and multiplied again.
def solve_0d54c5a0(I):
    x1 = colorcount(I, ONE)
    x2 = divide(x1, TWO)
    x3 = multiply(x2, TWO)
    x4 = equality(x1, x3)
    x5 = branch(x4, THREE, FOUR)
    O = replace(I, ONE, x5)
    return O


# A helper: whether the middle has the colour of the first cell.
def solve_c1bbe606(I):
    x1 = index(I, ORIGIN)
    x2 = shape(I)
    x3 = halve(x2)
    x4 = index(I, x3)
    x5 = initset(x1)
    O = contained(x4, x5)
    return O


# A helper that fails on most pictures: colours divided by the number of grey cells.
def solve_a77043bd(I):
    x1 = colorcount(I, FIVE)
    x2 = rbind(divide, x1)
    x3 = rbind(apply, first(I))
    O = x3(x2)
    return O


# A helper that recurses for ever where nothing is pink: a function to the power of zero.
def solve_270f9447(I):
    x1 = colorcount(I, SIX)
    x2 = power(rot90, x1)
    O = x2(I)
    return O
