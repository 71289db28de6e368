/**
 * Runs work that creates style elements and fills them with text, as a terminal does when it opens. The page's Content
 * Security Policy forbids that. Such text goes into constructed style sheets instead, which the policy allows. Returns
 * the sheets, for `forgetSheets`.
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

/** An element that a caller can use like a style element. */
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

/**
 * The terminal colours a cell by setting the `style` attribute of its span. The page's Content Security Policy forbids
 * that, but allows the same text in the element's `style` property.
 */
export function allowStyleText(): void {
  HTMLSpanElement.prototype.setAttribute = function setAttribute(name, value) {
    if (name === 'style') this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
