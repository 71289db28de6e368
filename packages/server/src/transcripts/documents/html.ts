import { createHash } from 'node:crypto'

/** HTML that is safe to send, because its interpolations were escaped. Only the `html` tag creates it. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type HtmlContent = string | number | undefined | false | Html | readonly HtmlContent[]

/** A template that escapes every interpolation except results of this tag. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlContent[]): Html {
  return new Html(strings.reduce((text, string, index) => text + render(values[index - 1]) + string))
}

function render(value: HtmlContent): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  return typeof value === 'object' ? value.map(render).join('') : escapeHtml(String(value))
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** The policy of a page: its style sheet, by hash, and embedded images are allowed, but no scripts or requests. */
function policyFor(style: string): string {
  const hash = createHash('sha256').update(style).digest('base64')
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`
}

/** A whole page in Parley's style, without scripts. */
export function page(parts: { title: string; head?: Html; body: Html }): string {
  return `${pageStart(parts)}${parts.body.text}${pageEnd}`
}

export function pageStart({ title, head }: { title: string; head?: Html }): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
${head}<style>${new Html(pageStyle)}</style>
</head>
<body>
<main>
`.text
}

export const pageEnd = '\n</main>\n</body>\n</html>\n'

const pageStyle = `
:root { color-scheme: light dark; --ink: #1c1f24; --soft: #626b78; --line: #dfe3e8; --page: #fbfbfa; --card: #fff; --mark: #2f5fd0; --good: #1c7c4a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #98a1ad; --line: #30353d; --page: #15171a; --card: #1d2024; --mark: #8fb0ff; --good: #6fcf97; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
h3, h4 { font-size: 1rem; margin: 1rem 0 .25rem; }
a { color: var(--mark); }
p { margin: .5rem 0; }
pre, code { font: .875rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .75rem; margin: .5rem 0; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
ul, ol { margin: .5rem 0; padding-left: 1.5rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: start; vertical-align: top; }
th[align=right], td[align=right] { text-align: right; } th[align=center], td[align=center] { text-align: center; }
hr { border: 0; border-top: 1px solid var(--line); }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid var(--line); }
img { max-width: 100%; height: auto; }
.soft { color: var(--soft); font-size: .9rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
ul.rows { list-style: none; margin: .5rem 0; padding: 0; }
ul.rows li { border-top: 1px solid var(--line); padding: .6rem 0; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: .9rem 0; overflow-wrap: anywhere; }
section.prompt { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .7rem .9rem; margin: 1.2rem 0; }
section.nested { margin-left: 1.2rem; }
.text { white-space: pre-wrap; }
summary { cursor: pointer; color: var(--soft); }
ins { color: var(--good); text-decoration: none; } del { color: var(--bad); text-decoration: none; }
`
export const pagePolicy = policyFor(pageStyle)
