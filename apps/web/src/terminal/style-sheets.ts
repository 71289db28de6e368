/**
 * Runs work that makes style elements and fills them with text, as a terminal does when it opens. The page's policy
 * forbids that; here such text goes into constructed style sheets, which it allows. Gives the sheets, to be forgotten.
 */
export function withStyleSheets(work: () => void): readonly CSSStyleSheet[] {
  const sheets: CSSStyleSheet[] = []
  const create = document.createElement
  document.createElement = ((tag: string, options?: ElementCreationOptions) =>
    tag === 'style' ? standIn(sheets) : create.call(document, tag, options)) as typeof create
  try {
    work()
  } finally {
    document.createElement = create
  }
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, ...sheets]
  return sheets
}

/** Looks like a style element to whoever writes into it. */
function standIn(sheets: CSSStyleSheet[]): HTMLElement {
  const element = document.createElementNS('http://www.w3.org/1999/xhtml', 'div') as HTMLElement
  const sheet = new CSSStyleSheet()
  let text = ''
  element.hidden = true
  sheets.push(sheet)
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set(next: string) {
      text = next
      sheet.replaceSync(next)
    },
  })
  return element
}

export function forgetSheets(sheets: readonly CSSStyleSheet[]): void {
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet))
}
