/** A queue of messages for an agent that reads them in order for its whole lifetime. */
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
    /** Ends the queue: an agent without work exits. */
    end(): void {
      ended = true
      wake?.()
    },
  }
}
