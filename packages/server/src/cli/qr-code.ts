import { encode } from 'uqr'

/** The margin that scanners need around a QR code. */
const margin = 2
const [reset, whiteOnBlack] = ['\x1b[0m', '\x1b[38;5;231m\x1b[48;5;16m']

/**
 * The lines of a QR code for a terminal; each shows two rows of modules. With colours, the light modules are white on
 * black whatever the colours of the terminal are. Without colours, the terminal must have a dark background.
 */
export function qrLines(text: string, { isColoured }: { isColoured: boolean }): string[] {
  const { data, size } = encode(text, { border: margin })
  const isLight = (row: number, column: number) => !data[row]?.[column]
  const lines: string[] = []
  for (let row = 0; row < size; row += 2) {
    let line = ''
    for (let column = 0; column < size; column++) {
      // The row below the last row counts as dark, like the background of the terminal.
      const lower = row + 1 < size && isLight(row + 1, column)
      line += isLight(row, column) ? (lower ? '█' : '▀') : lower ? '▄' : ' '
    }
    lines.push(isColoured ? `${whiteOnBlack}${line}${reset}` : line)
  }
  return lines
}
