"""Conway's Game of Life: a gun that shoots gliders, on a board whose edges meet.

The rule is written with `==` on symbolic arrays, which compares elements as NumPy's does.
"""

import numpy as np

import scanopt
import scanopt.tensor as T
from pictures import heat_map

GUN = """
........................#...........
......................#.#...........
............##......##............##
...........#...#....##............##
##........#.....#...##..............
##........#...#.##....#.#...........
..........#.....#.......#...........
...........#...#....................
............##......................
"""
PLACES = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def step(board):
    """The next generation."""
    neighbours = sum(np.roll(board, place, axis=(0, 1)) for place in PLACES)
    return ((neighbours == 3) | ((neighbours == 2) & (board == 1))).astype("int8")


def numpy_loop(board, generations):
    """The same cell by cell, as a plain loop."""
    rows, columns = board.shape
    boards = []
    for _ in range(generations):
        following = np.zeros_like(board)
        for y in range(rows):
            for x in range(columns):
                neighbours = sum(board[(y + i) % rows, (x + j) % columns] for i, j in PLACES)
                following[y, x] = neighbours == 3 or (neighbours == 2 and board[y, x] == 1)
        board = following
        boards.append(board)
    return np.array(boards)


board, generations = T.bmatrix("board"), T.iscalar("generations")
boards, _ = scanopt.scan(step, outputs_info=board, n_steps=generations)
life = scanopt.function([board, generations], boards, name="life")


def main():
    gun = np.array([[c == "#" for c in row] for row in GUN.split()], "int8")
    first = np.zeros((48, 64), "int8")
    first[2 : 2 + gun.shape[0], 2 : 2 + gun.shape[1]] = gun
    found = life(first, 120)
    np.testing.assert_allclose(found[:20], numpy_loop(first, 20))

    place = np.s_[2 : 2 + gun.shape[0], 2 : 2 + gun.shape[1]]
    periods = [n for n in range(1, 61) if np.array_equal(found[n - 1][place], gun)]
    print(f"120 generations of {first.size} cells, from {first.sum()} living ones to {found[-1].sum()}")
    print(f"the gun is as it was after {periods} generations; each time a glider has left")

    heat = np.sum(found * 0.97 ** np.arange(120)[::-1, None, None], axis=0)  # where life was, the latest brightest
    print(f"{heat_map('game_of_life', np.maximum(heat.clip(max=6), 10 * found[-1]), scale=8)} written")


if __name__ == "__main__":
    main()
