/** The task for the model in a prompt of the bench. */
export type ClaudeTask =
  /** `deltas` pieces, as fast as the agent reads them. */
  | { readonly do: 'stream'; readonly deltas: number }
  /** `count` pieces at a steady rate, each with the time it was sent. */
  | { readonly do: 'stamp'; readonly count: number; readonly rate: number }

export const piece = 'word '

/** Returns a prompt that tells the model which answer to give. */
export function promptFor(task: ClaudeTask): string {
  return `Go on. <<bench ${JSON.stringify(task)}>>`
}

const mark = /.*<<bench (.*?)>>/s

/** The latest task in the body of a request. The task is JSON inside a JSON string. */
export function taskIn(body: string): ClaudeTask | undefined {
  const json = mark.exec(body)?.[1]
  return json === undefined ? undefined : (JSON.parse(json.replaceAll('\\"', '"')) as ClaudeTask)
}

const event = (data: Readonly<Record<string, unknown>>) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** The events of an answer in the Messages API: those before its text, a piece of the text, and those after it. */
export const answerEvents = {
  before(id: string): string {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const stop = { stop_reason: null, stop_sequence: null }
    const message = { id, type: 'message', role: 'assistant', model: 'bench', content: [], usage, ...stop }
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
    return event({ type: 'message_start', message }) + event(block)
  },
  delta: (text: string) =>
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
  after: [
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 1 },
    },
    { type: 'message_stop' },
  ]
    .map(event)
    .join(''),
}
