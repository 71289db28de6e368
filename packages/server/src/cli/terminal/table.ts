import { oneLine } from './visible.ts'

export type Column = {
  readonly name: string
  /** The column may be cut to make the table fit. */
  readonly shrinks?: boolean
}

const gap = 2
const narrowest = 10

/** Rows under their headings. With a width, the columns that may be cut share the remaining space. */
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
