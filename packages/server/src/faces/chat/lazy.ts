import type { ChatFace } from './index.ts'

/** A chat face that is loaded with its first request. */
export function lazyChatFace(load: () => Promise<ChatFace>): ChatFace {
  let loaded: Promise<ChatFace> | undefined
  const face = () => {
    loaded ??= load()
    return loaded
  }
  return {
    send: async (...given) => (await face()).send(...given),
    resume: async (...given) => (await face()).resume(...given),
    stop: async (...given) => (await face()).stop(...given),
    messages: async (...given) => (await face()).messages(...given),
    close: () => void loaded?.then((one) => one.close()),
  }
}
