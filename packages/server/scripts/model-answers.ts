import type { ModelAnswer, ModelServer } from '../src/testing/model-server.ts'

export type ToolCall = [name: string, input: object]

/**
 * The answers of a scripted model. `usage` is in the format of the model's service; `callPrefix` is the prefix of call
 * ids.
 */
export function createAnswers(usage: object, callPrefix: string) {
  let lastCall = 0
  const toolCall = ([name, input]: ToolCall) => ({
    name,
    id: `${callPrefix}_${String(++lastCall).padStart(8, '0')}`,
    arguments: JSON.stringify(input),
  })
  return {
    says: (content: string, more: object = {}) => ({ content, usage, ...more }) as ModelAnswer,
    /** An answer with a text, then tool calls. */
    calls: (text: string, ...list: ToolCall[]) =>
      ({ ...(text && { content: text }), toolCalls: list.map(toolCall), usage }) as ModelAnswer,
  }
}

/** The model gives these answers in turn, to any request that no other script answers. */
export function script(server: ModelServer, ...answers: readonly ModelAnswer[]): void {
  server.script(
    () => true,
    answers.map((response) => ({ response, chunkSize: hasPath(response) ? 1000 : 16 })),
  )
}

/**
 * True if the answer contains a path. Such an answer is streamed in one chunk: a path that is split over
 * several chunks could not be replaced in the recording.
 */
function hasPath(answer: ModelAnswer): boolean {
  return JSON.stringify(answer).includes('file_path')
}

export const echoServer = {
  command: process.execPath,
  args: ['--conditions=source', new URL('../src/testing/mcp-echo.ts', import.meta.url).pathname],
}

type Run = AsyncDisposable & { turn(prompt: string): Promise<void> }

/** A scenario on one process, with one turn for each prompt. The model gives the answers in turn. */
export function turns(prompts: readonly string[], ...answers: ModelAnswer[]) {
  return {
    async play({ server, start }: { server: ModelServer; start(): Run | Promise<Run> }): Promise<void> {
      script(server, ...answers)
      await using run = await start()
      for (const prompt of prompts) await run.turn(prompt)
    },
  }
}

export function oneTurn(prompt: string, ...answers: ModelAnswer[]) {
  return turns([prompt], ...answers)
}

/** The messages of a run so far, and a way to wait for more. */
export class SeenMessages<Message> {
  readonly #seen: Message[] = []
  #notify: () => void = () => undefined
  #isOver = false

  add(message: Message): void {
    this.#seen.push(message)
    this.#notify()
  }

  /** Called when no more messages follow: ends every wait. */
  end(): void {
    this.#isOver = true
    this.#notify()
  }

  count(found: (message: Message) => boolean): number {
    return this.#seen.filter(found).length
  }

  /** Resolves when the condition holds, or when no more messages follow. */
  async until(holds: (messages: readonly Message[]) => boolean): Promise<void> {
    while (!this.#isOver && !holds(this.#seen)) {
      await new Promise<void>((resolve) => {
        this.#notify = resolve
      })
    }
  }
}
