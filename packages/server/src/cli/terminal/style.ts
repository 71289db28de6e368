import { styleText } from 'node:util'

const formats = ['bold', 'dim', 'red', 'green', 'yellow', 'cyan'] as const
export type Style = Readonly<Record<(typeof formats)[number], (text: string) => string>>

export function createStyle(coloured: boolean): Style {
  const paint = (format: (typeof formats)[number]) => (text: string) =>
    coloured && text !== '' ? styleText(format, text, { validateStream: false }) : text
  return Object.fromEntries(formats.map((format) => [format, paint(format)])) as Style
}

/** True on a terminal unless NO_COLOR is set; FORCE_COLOR overrides both. */
export function isColoured(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  const forced = env.FORCE_COLOR
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false'
  return isTerminal && !env.NO_COLOR && env.TERM !== 'dumb'
}
