import type { Output } from './output.ts'
import { oneLine } from './visible.ts'

export type Column = {
  readonly name: string
  /** True if the column may be cut to make the table fit. */
  readonly shrinks?: boolean
}

const gap = 2
const narrowest = 10

export type List<Item> = {
  readonly columns: readonly Column[]
  readonly row: (item: Item) => string[]
  readonly empty: string
}

/** Prints a table, or with `json` one item per line, as JSON. Returns whether it printed a table. */
export function printList<Item>(
  items: readonly Item[],
  { columns, row, empty }: List<Item>,
  { json, output }: { readonly json: boolean | undefined; readonly output: Output },
): boolean {
  if (json) {
    for (const item of items) output.out(`${JSON.stringify(item)}\n`)
    return false
  }
  if (items.length === 0) {
    output.err(`${empty}\n`)
    return false
  }
  printTable(tableLines(columns, items.map(row), tableWidth(output)), output)
  return true
}

export function printTable([head = '', ...lines]: readonly string[], { out, outStyle }: Output): void {
  out([outStyle.dim(head), ...lines, ''].join('\n'))
}

/** The width of the terminal; undefined if stdout is not a terminal. */
export function tableWidth({ isOutTerminal, columns }: Output): number | undefined {
  return isOutTerminal ? columns() : undefined
}

/** Rows under their headings. If a width is given, the columns that may be cut share the remaining space. */
export function tableLines(columns: readonly Column[], rows: readonly string[][], width?: number): string[] {
  const cells = [columns.map(({ name }) => name), ...rows.map((row) => row.map((cell) => oneLine(cell)))]
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)))
  if (width !== undefined) shrink(widths, columns, width)
  return cells.map((row) =>
    row
      .map((cell, index) => oneLine(cell, widths[index]).padEnd(widths[index] ?? 0))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

function shrink(widths: number[], columns: readonly Column[], width: number): void {
  const total = () => widths.reduce((sum, one) => sum + one, gap * (widths.length - 1))
  while (total() > width) {
    let widest = -1
    columns.forEach(({ shrinks }, index) => {
      const own = widths[index] ?? 0
      if (shrinks && own > narrowest && own > (widths[widest] ?? 0)) widest = index
    })
    if (widest < 0) return
    widths[widest] = (widths[widest] ?? 0) - 1
  }
}
