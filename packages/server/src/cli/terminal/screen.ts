import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from 'node:readline'
import type { Output } from './output.ts'
import type { Piece } from './transcript.ts'
import { takeTypeAhead } from './type-ahead.ts'

export type Keyboard = {
  /**
   * Draws a request. Drops everything that was typed before, because a person cannot answer a request that
   * they have not seen. A line counts only if its first key came after the request was shown.
   */
  draw(lines: readonly string[]): Promise<void>
  /** The next line typed; undefined at the end of input. Rejects with the signal's reason. */
  line(prompt: string, signal: AbortSignal): Promise<string | undefined>
}

export type ScreenOptions = {
  readonly stdin: NodeJS.ReadStream
  readonly stderr: NodeJS.WriteStream
  readonly output: Output
  readonly onInterrupt: () => void
  /** If set, a person can type between requests too. The prompt is shown from the call of `invite` on. */
  readonly typing?: { readonly prompt: string; onLine(line: string): void; onEnd(): void }
}

/** The time to wait for type-ahead on systems where it cannot be read at once. */
const arrivesMs = 150
const interruptKey = '\u0003'

/** The terminal of one command: shows the output of a session and reads the input of a person. */
export class Screen {
  readonly #options: ScreenOptions
  #lines: Interface | undefined
  #held: Piece[] | undefined
  #isInviting = false
  #isPromptShown = false
  #isMidLine = false
  /** True if a row was the last output, and nothing was typed since. */
  #isRowLast = false
  /** Output that is held back because its line is not complete and a person is typing. */
  #unfinished: Piece[] = []
  /** Lines typed during a request before `line` was called. */
  #typed: string[] = []
  #waiting: ((line: string | undefined) => void) | undefined

  constructor(options: ScreenOptions) {
    this.#options = options
    if (options.typing) this.#open()
  }

  /** Shows the prompt for typing now, and again after each output. */
  invite(): void {
    this.#isInviting = true
    this.#showPrompt()
  }

  /** Prints output of the session. It is held back while a request is shown. */
  print(pieces: readonly Piece[]): void {
    if (this.#held) this.#held.push(...pieces)
    else this.#write(pieces)
  }

  /** Prints a message of Parley at once. Typed text is redrawn below it. */
  say(line: string): void {
    const before = this.#unfinished.splice(0)
    const end = before.length > 0 || this.#isMidLine ? '\n' : ''
    this.#write([...before, { to: 'err', text: `${end}${line}\n` }])
    this.#isRowLast = false
  }

  /** Runs `work` with the keyboard. All other output waits until `work` is done. */
  async ask<Answer>(work: (keyboard: Keyboard) => Promise<Answer>): Promise<Answer> {
    const draft = this.#clearTyped()
    this.#hidePrompt()
    this.#write(this.#unfinished.splice(0))
    this.#hidePrompt()
    this.#held = []
    if (!this.#lines) this.#open()
    try {
      return await work({
        draw: (lines) => this.#draw(lines),
        line: (prompt, signal) => this.#line(prompt, signal),
      })
    } finally {
      if (!this.#options.typing) this.close()
      const held = this.#held
      this.#held = undefined
      this.#write(held)
      if (draft !== '') this.#lines?.write(draft)
    }
  }

  close(): void {
    const lines = this.#lines
    this.#lines = undefined
    lines?.close()
  }

  #open(): void {
    const { stdin, stderr, typing, onInterrupt } = this.#options
    const lines = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 100 })
    this.#lines = lines
    lines.setPrompt(typing?.prompt ?? '')
    const began = () => this.#keyPressed()
    stdin.prependListener('keypress', began)
    lines.on('SIGINT', onInterrupt)
    lines.on('line', (line) => this.#take(line))
    lines.on('close', () => {
      stdin.off('keypress', began)
      if (this.#lines !== lines) return
      this.#lines = undefined
      this.#waiting?.(undefined)
      typing?.onEnd()
    })
  }

  /**
   * Runs before readline shows the key. If the agent is in the middle of a line, begins a new line for the typed text.
   */
  #keyPressed(): void {
    if (!this.#options.typing || this.#held || !this.#isMidLine || this.#isPromptShown) return
    this.#options.output.err('\n')
    this.#isMidLine = false
    this.#isRowLast = false
    this.#showPrompt()
  }

  #take(line: string): void {
    this.#isPromptShown = false
    this.#isMidLine = false
    this.#isRowLast = false
    if (this.#waiting) return this.#waiting(line)
    if (this.#held) return void this.#typed.push(line)
    this.#options.typing?.onLine(line)
    this.#write(this.#unfinished.splice(0))
  }

  async #draw(lines: readonly string[]): Promise<void> {
    const before = takeTypeAhead()
    if (before && !/[\r\n]$/.test(before)) this.#options.output.err('\n')
    for (const line of lines) this.say(line)
    const typed = takeTypeAhead()
    if (typed === undefined) await new Promise((resolve) => setTimeout(resolve, arrivesMs))
    this.#typed = []
    this.#clearTyped()
    if (`${before}${typed}`.includes(interruptKey)) this.#options.onInterrupt()
  }

  /** Removes the text of the input line and returns it. */
  #clearTyped(): string {
    const lines = this.#lines
    if (!lines || lines.line === '') return ''
    const typed = lines.line
    lines.write(null, { ctrl: true, name: 'e' })
    lines.write(null, { ctrl: true, name: 'u' })
    return typed
  }

  #line(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    signal.throwIfAborted()
    const typed = this.#typed.shift()
    if (typed !== undefined) return Promise.resolve(typed)
    const lines = this.#lines
    if (!lines) return Promise.resolve(undefined)
    return new Promise((resolve, reject) => {
      const settle = (result: () => void) => {
        this.#waiting = undefined
        signal.removeEventListener('abort', drop)
        lines.setPrompt(this.#options.typing?.prompt ?? '')
        result()
      }
      const drop = () => {
        this.#clearTyped()
        this.#hidePrompt()
        settle(() => reject(signal.reason))
      }
      this.#waiting = (line) => settle(() => resolve(line))
      signal.addEventListener('abort', drop, { once: true })
      lines.setPrompt(prompt)
      this.#showPrompt()
    })
  }

  #write(pieces: readonly Piece[]): void {
    if (pieces.length === 0) return this.#showPrompt()
    const now = this.#isBeingTyped() ? this.#wholeLines(pieces) : pieces
    if (now.length === 0) return
    this.#hidePrompt()
    for (const { to, text, overRow } of now) {
      const over = overRow && this.#isRowLast ? '\u001b[1A\u001b[2K' : ''
      this.#options.output[to](`${over}${text}`)
      this.#isMidLine = !text.endsWith('\n')
      this.#isRowLast = !this.#isMidLine
    }
    this.#showPrompt()
  }

  #isBeingTyped(): boolean {
    return this.#options.typing !== undefined && !this.#held && (this.#lines?.line ?? '') !== ''
  }

  /**
   * The part that can be written above the input line. The rest is held back until its line is complete or the person
   * stops typing.
   */
  #wholeLines(pieces: readonly Piece[]): Piece[] {
    const all = [...this.#unfinished, ...pieces]
    const last = all.findLastIndex(({ text }) => text.includes('\n'))
    const piece = all[last]
    if (!piece) {
      this.#unfinished = all
      return []
    }
    const end = piece.text.lastIndexOf('\n') + 1
    const rest = piece.text.slice(end)
    this.#unfinished = [...(rest ? [{ to: piece.to, text: rest }] : []), ...all.slice(last + 1)]
    return [...all.slice(0, last), { ...piece, text: piece.text.slice(0, end) }]
  }

  /** Shows the prompt and the typed text of the open request, or of the prompt line if no request is open. */
  #showPrompt(): void {
    const isOpen = this.#held ? this.#waiting : this.#options.typing && this.#isInviting
    if (!this.#lines || !isOpen || this.#isMidLine || this.#isPromptShown) return
    this.#lines.prompt(true)
    this.#isPromptShown = true
  }

  #hidePrompt(): void {
    if (!this.#isPromptShown || !this.#lines) return
    const { stderr } = this.#options
    moveCursor(stderr, 0, -this.#lines.getCursorPos().rows)
    cursorTo(stderr, 0)
    clearScreenDown(stderr)
    // Otherwise readline would move up by the rows of its last output, which are no longer on the screen.
    Object.assign(this.#lines, { prevRows: 0 })
    this.#isPromptShown = false
  }
}
