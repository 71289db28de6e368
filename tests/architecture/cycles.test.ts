import { expect, it } from 'vitest'
import { importsOf, sourceFiles, targetOf } from './workspace.ts'

it('no files import each other in a cycle, neither values nor types', () => {
  const files = sourceFiles()
  expect(files.length).toBeGreaterThan(500)
  const cycles = importCycles(new Map(files.map((file) => [file, targetsOf(file)])))
  expect(cycles, 'move what both sides need into a file of its own, or pass it in').toEqual([])
})

it('a cycle is reported with all its files', () => {
  const imports = { a: ['b', 'd'], b: ['c'], c: ['a'], d: ['e'], e: ['f'], f: [], self: ['self'] }
  expect(importCycles(new Map(Object.entries(imports)))).toEqual([['a', 'b', 'c'], ['self']])
})

function targetsOf(file: string): string[] {
  return importsOf(file).flatMap((specifier) => targetOf(file, specifier) ?? [])
}

/** The strongly connected components of the graph with more than one file, each sorted (Tarjan's algorithm). */
function importCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const path: string[] = []
  const cycles: string[][] = []
  /** Visits a file. Returns the visit number of the earliest file on the current path that can be reached from it. */
  const visit = (file: string): number => {
    const index = order.size
    order.set(file, index)
    path.push(file)
    let earliest = index
    for (const target of graph.get(file) ?? []) {
      if (!graph.has(target)) continue
      if (!order.has(target)) earliest = Math.min(earliest, visit(target))
      else if (path.includes(target)) earliest = Math.min(earliest, order.get(target)!)
    }
    if (earliest < index) return earliest
    const cycle = path.splice(path.indexOf(file))
    if (cycle.length > 1 || graph.get(file)?.includes(file)) cycles.push(cycle.toSorted())
    return Number.POSITIVE_INFINITY
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return cycles
}
