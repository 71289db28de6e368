import type { Row } from './figure.ts'

const columns = ['figure', 'value', 'baseline', 'ratio', 'aim', 'met'] as const

export function printTable(rows: readonly Row[]): void {
  const lines = [[...columns], ...rows.map(cellsOf)]
  const widths = columns.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const print = (line: readonly string[]) =>
    console.log(
      line
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
        .join('  '),
    )
  print(lines[0]!)
  console.log(widths.map((width) => '-'.repeat(width)).join('  '))
  for (const line of lines.slice(1)) print(line)
}

function cellsOf({ figure, value, baseline, ratio, aim, met }: Row): string[] {
  return [
    figure,
    value,
    baseline ?? '',
    ratio === undefined ? '' : ratio.toFixed(2),
    aim ?? '',
    met === undefined ? '' : met ? 'yes' : 'NO',
  ]
}
