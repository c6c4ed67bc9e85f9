"""What a gradient costs, forwards and backwards, in operations (lecture B, 5.4). Given: there is nothing to fill in.

Scalars that count: a program is written down once as a graph in which every edge knows its local derivative. Then both
modes find the gradient on that graph, and every operation is counted:

- forwards, a node's value together with its tangent is one operation, and there is a pass for each input;
- backwards, the one forward pass counts an operation a node, and after it each edge is one multiply-add.

Try ``python -m lm.counting``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


class Graph:
    """A program on scalars. A node is known by its number; later nodes depend on earlier ones only.

    Attributes:
        values: the value of each node.
        inputs: for each node the pairs (earlier node, local derivative by it); none for a leaf.
        operations: how many have been counted so far.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self.inputs: list[tuple[tuple[int, float], ...]] = []
        self.operations = 0

    def leaf(self, value: float) -> int:
        """An input of the program, or a constant."""
        self.values.append(value)
        self.inputs.append(())
        return len(self.values) - 1

    def sin(self, i: int) -> int:
        """The sine of a node."""
        return self._node(math.sin(self.values[i]), (i, math.cos(self.values[i])))

    def add(self, i: int, j: int) -> int:
        """The sum of two nodes."""
        return self._node(self.values[i] + self.values[j], (i, 1.0), (j, 1.0))

    def multiply(self, i: int, j: int) -> int:
        """The product of two nodes."""
        return self._node(self.values[i] * self.values[j], (i, self.values[j]), (j, self.values[i]))

    def forward(self, leaf: int) -> float:
        """The derivative of the last node by one leaf: a pass in the order of the program, a tangent for each node."""
        tangents: list[float] = []
        for node, edges in enumerate(self.inputs):
            if edges:
                self.operations += 1
                tangents.append(sum([tangents[i] * local for i, local in edges]))
            else:
                tangents.append(1.0 if node == leaf else 0.0)
        return tangents[-1]

    def reverse(self) -> list[float]:
        """The derivatives of the last node by all nodes: each pulls from the nodes that use it ("version A")."""
        uses: list[list[tuple[int, float]]] = [[] for _ in self.values]
        for node, edges in enumerate(self.inputs):
            self.operations += bool(edges)  # the forward pass
            for i, local in edges:
                uses[i].append((node, local))
        result = [0.0] * len(self.values)
        result[-1] = 1.0
        for node in range(len(result) - 2, -1, -1):
            for later, local in uses[node]:
                self.operations += 1
                result[node] += result[later] * local
        return result

    def _node(self, value: float, *edges: tuple[int, float]) -> int:
        number = self.leaf(value)
        self.inputs[number] = edges
        return number


def cyclic(x: Sequence[float]) -> Graph:
    """The program f(x) = sum of sin(x_i) x_(i+1), where x_0 comes after the last one. The leaves of x come first.

    The sum starts from a constant 0, so n inputs make 3n operations with 5n edges.
    """
    graph = Graph()
    leaves = [graph.leaf(value) for value in x]
    total = graph.leaf(0.0)
    for i, following in zip(leaves, [*leaves[1:], *leaves[:1]], strict=True):
        total = graph.add(total, graph.multiply(graph.sin(i), following))
    return graph


def by_forward_mode(x: Sequence[float]) -> tuple[list[float], int]:
    """The gradient of ``cyclic`` and the number of operations: 3n a pass, n passes."""
    graph = cyclic(x)
    return [graph.forward(leaf) for leaf in range(len(x))], graph.operations


def by_reverse_mode(x: Sequence[float]) -> tuple[list[float], int]:
    """The gradient of ``cyclic`` and the number of operations: 3n forwards, 5n backwards."""
    graph = cyclic(x)
    return graph.reverse()[: len(x)], graph.operations


if __name__ == "__main__":
    print(f"{'inputs':>8}{'forward mode':>15}{'reverse mode':>15}{'ratio':>10}")
    for n in (10, 100, 1000):
        point = [math.cos(i) for i in range(n)]
        (one, forwards), (other, backwards) = by_forward_mode(point), by_reverse_mode(point)
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) < 1e-12
        print(f"{n:>8}{forwards:>15,}{backwards:>15,}{forwards / backwards:>10.2f}")
