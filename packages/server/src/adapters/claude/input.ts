/** Messages for an agent that reads them one after another, for as long as it lives. */
export function createInput<Message>() {
  const waiting: Message[] = []
  let wake: (() => void) | undefined
  let ended = false

  async function* messages(): AsyncGenerator<Message, void> {
    for (;;) {
      const next = waiting.shift()
      if (next !== undefined) yield next
      else if (ended) return
      else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  }

  return {
    messages: messages(),
    push(message: Message): void {
      waiting.push(message)
      wake?.()
    },
    /** Nothing more will be said: an agent that is not at work goes home. */
    end(): void {
      ended = true
      wake?.()
    },
  }
}
