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

/**
 * A cell with a colour of its own, as programs choose it and as what was found is marked, is a span whose style is set
 * as the text of an attribute. The page's policy forbids that; the same text given to the element's style is allowed.
 */
export function takeStyleText(): void {
  HTMLSpanElement.prototype.setAttribute = function setAttribute(name, value) {
    if (name === 'style') this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
