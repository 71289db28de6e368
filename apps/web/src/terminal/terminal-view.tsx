import { FitAddon } from '@xterm/addon-fit'
import { SearchAddon } from '@xterm/addon-search'
import { type ITheme, Terminal } from '@xterm/xterm'
import '@xterm/xterm/css/xterm.css'
import { useEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { focusMain, hasFocusClaim, useFocusFallback } from '../base/focus.ts'
import { FindInTerminal } from './find-in-terminal.tsx'
import { endText, type Link } from './tabs.logic.ts'

const activityMs = 1000

type Props = {
  terminalId: string
  /** True if the server no longer lists the terminal. */
  isGone: boolean
  finding: boolean
  onFind: (open: boolean) => void
  onGone: () => void
  /** Called a moment after output: another program may be running now. */
  onActivity: () => void
}

/** One terminal on screen. The server holds its state; this component shows it and sends keys. */
export function TerminalView({ terminalId, isGone, finding, onFind, onGone, onActivity }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const search = useRef<SearchAddon>(null)
  const shown = useRef<Terminal>(null)
  const [link, setLink] = useState<Link>({ state: undefined, wasLost: false })
  const ended = endText(link, isGone)
  const callbacks = useRef({ onGone, onFind, onActivity })
  callbacks.current = { onGone, onFind, onActivity }
  useFocusFallback(place)

  useEffect(() => {
    if (!place.current) return
    const { terminal, finder, close } = openTerminal(place.current, terminalId, {
      onState(state) {
        setLink(({ wasLost }) => ({ state, wasLost: wasLost || state === 'lost' }))
        if (state === 'gone') callbacks.current.onGone()
      },
      onFind: () => callbacks.current.onFind(true),
      onActivity: () => callbacks.current.onActivity(),
    })
    search.current = finder
    shown.current = terminal
    // The terminal takes the focus only if the person opened it: otherwise text typed for the agent could be sent to
    // a shell.
    if (hasFocusClaim('terminal')) terminal.focus()
    return close
  }, [terminalId])

  return (
    <div className="flex min-h-0 flex-1 flex-col bg-[#161512]">
      <div role="status">
        {(ended !== undefined || link.state === 'lost') && (
          <p className="bg-wait-wash px-3 py-1 text-xs text-wait">
            {ended ?? 'Offline. The terminal reconnects when the server is back.'}
          </p>
        )}
      </div>
      {finding && (
        <FindInTerminal
          search={search}
          onClose={() => {
            onFind(false)
            shown.current?.focus()
          }}
        />
      )}
      {/* A click beside the text focuses the terminal too. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Tab reaches the terminal by keyboard */}
      <div
        ref={place}
        data-terminal
        className="min-h-0 flex-1 p-2"
        onMouseDown={(event) => {
          if (event.target !== place.current) return
          event.preventDefault()
          shown.current?.focus()
        }}
      />
    </div>
  )
}

type Callbacks = {
  readonly onState: (state: 'open' | 'lost' | 'gone' | 'refused') => void
  readonly onFind: () => void
  readonly onActivity: () => void
}

/** Opens a terminal in the element and connects it to the server. */
function openTerminal(element: HTMLElement, terminalId: string, callbacks: Callbacks) {
  const terminal = newTerminal()
  const fit = new FitAddon()
  const finder = new SearchAddon()
  terminal.loadAddon(fit)
  terminal.loadAddon(finder)
  const sheets = withStyleSheets(() => terminal.open(element))
  let activity: ReturnType<typeof setTimeout> | undefined
  const noteActivity = () => {
    activity ??= setTimeout(() => {
      activity = undefined
      callbacks.onActivity()
    }, activityMs)
  }
  const socket = client.watchTerminal(terminalId, {
    onState(state) {
      callbacks.onState(state)
      if (state === 'open') resize()
    },
    onFrame(frame) {
      noteActivity()
      if (frame.type === 'screen') {
        terminal.reset()
        terminal.write(frame.data)
      } else if (frame.type === 'output') terminal.write(frame.data)
      else if (frame.type === 'exited')
        terminal.write(`\r\n\u001b[2m(exit code ${frame.exitCode})\u001b[0m\r\n`)
    },
  })
  const resize = () => {
    fit.fit()
    socket.send({ type: 'resize', cols: Math.max(2, terminal.cols), rows: Math.max(1, terminal.rows) })
  }
  const observer = new ResizeObserver(resize)
  observer.observe(element)
  let isClosed = false
  void fontLoaded().then(() => {
    if (isClosed) return
    // A change of the family makes the terminal measure its characters again.
    terminal.options.fontFamily = family
    resize()
  })
  terminal.onData((data) => socket.send({ type: 'input', data }))
  terminal.attachCustomKeyEventHandler((event) => {
    const action = event.type === 'keydown' ? keyOf(event) : undefined
    if (action === 'find') callbacks.onFind()
    if (action === 'leave') focusMain()
    if (action) event.preventDefault()
    return action === undefined
  })
  const close = () => {
    isClosed = true
    observer.disconnect()
    clearTimeout(activity)
    socket.close()
    terminal.dispose()
    forgetSheets(sheets)
  }
  return { terminal, finder, close }
}

/** Dark in both themes: programs choose their colours for a dark background. */
const theme: ITheme = {
  background: '#161512',
  foreground: '#ebe7df',
  cursor: '#ebe7df',
  selectionBackground: '#3d5570',
  black: '#161512',
  red: '#ff9d92',
  green: '#85cb9f',
  yellow: '#f0b552',
  blue: '#8fbdea',
  magenta: '#d6a3e0',
  cyan: '#86cfd8',
  white: '#d8d3c9',
  brightBlack: '#988f83',
}

/** Keys that are not sent to the shell. The shell uses `Tab`, so another key moves the focus out of the terminal. */
function keyOf({ key, ctrlKey, metaKey, shiftKey }: KeyboardEvent): 'find' | 'leave' | undefined {
  if (key === 'F6') return 'leave'
  return (ctrlKey || metaKey) && shiftKey && key.toLowerCase() === 'f' ? 'find' : undefined
}

const fontSize = 13
const fallback = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'
const family = `"Plex Mono", ${fallback}`
const font = `${fontSize}px "Plex Mono"`

/**
 * Resolves when the font is loaded. A page without code has not fetched the font yet, and the fallback font
 * has other character widths.
 */
async function fontLoaded(): Promise<void> {
  await document.fonts.load(font).catch(() => undefined)
}

function newTerminal(): Terminal {
  allowStyleText()
  return new Terminal({
    theme,
    fontFamily: document.fonts.check(font) ? family : fallback,
    fontSize,
    lineHeight: 1.2,
    scrollback: 5000,
    allowProposedApi: true,
    screenReaderMode: true,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
  })
}

/**
 * Runs work that creates style elements and fills them with text, as a terminal does when it opens. The page's Content
 * Security Policy forbids that text but allows constructed style sheets, so the text is put into such sheets. Returns
 * the sheets, for `forgetSheets`.
 */
function withStyleSheets(work: () => void): readonly CSSStyleSheet[] {
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

/** An object that the terminal can use like a style element. */
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

function forgetSheets(sheets: readonly CSSStyleSheet[]): void {
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet))
}

/**
 * The terminal colours a cell by setting the `style` attribute of its span. The page's Content Security Policy forbids
 * this, but allows the same text in the element's `style` property.
 */
function allowStyleText(): void {
  HTMLSpanElement.prototype.setAttribute = function setAttribute(name, value) {
    if (name === 'style') this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
