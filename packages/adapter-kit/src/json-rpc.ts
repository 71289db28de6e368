export type JsonRpcId = string | number
export type JsonRpcRequest = { readonly id: JsonRpcId; readonly method: string; readonly params: unknown }
export type JsonRpcNotification = { readonly method: string; readonly params: unknown }

/** The error with which the other side refused a call. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export const methodNotFound = -32601

export type JsonRpcOptions = {
  /** True if messages have the member `jsonrpc`. Some programs leave it out. */
  readonly withVersion?: boolean
  send(message: object): void
  request(request: JsonRpcRequest): void
  notification(notification: JsonRpcNotification): void
  /** Called with any other message: one that is not JSON-RPC, or a response to no pending call. */
  stray(message: unknown): void
}

/**
 * One end of a JSON-RPC connection, without its transport. `take` delivers messages synchronously, which preserves
 * their order.
 */
export type JsonRpcPeer = {
  /**
   * Calls a method and resolves with its result. Rejects with a JsonRpcError, or with the reason passed to
   * `end`.
   */
  call(method: string, params?: unknown): Promise<unknown>
  notify(method: string, params?: unknown): void
  respond(id: JsonRpcId, result: unknown): void
  refuse(id: JsonRpcId, error: { code: number; message: string }): void
  take(message: unknown): void
  /** Rejects all pending and later calls with `reason`. */
  end(reason: Error): void
}

type Waiting = { resolve(result: unknown): void; reject(error: Error): void }

export function createJsonRpc(options: JsonRpcOptions): JsonRpcPeer {
  const waiting = new Map<JsonRpcId, Waiting>()
  const version = options.withVersion ? { jsonrpc: '2.0' } : {}
  const send = (message: object) => options.send({ ...version, ...message })
  let last = 0
  let over: Error | undefined

  function settle(id: JsonRpcId, message: Fields): boolean {
    const call = waiting.get(id)
    if (!call) return false
    waiting.delete(id)
    if (message.error === undefined) call.resolve(message.result)
    else call.reject(errorFrom(message.error))
    return true
  }

  return {
    call(method, params) {
      if (over) return Promise.reject(over)
      const id = ++last
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        send({ id, method, ...(params !== undefined && { params }) })
      })
    },
    notify: (method, params) => send({ method, ...(params !== undefined && { params }) }),
    respond: (id, result) => send({ id, result }),
    refuse: (id, error) => send({ id, error }),
    take(message) {
      const fields = (typeof message === 'object' && message !== null ? message : {}) as Fields
      const { id, method, params } = fields
      if (typeof method === 'string') {
        if (isId(id)) options.request({ id, method, params })
        else options.notification({ method, params })
      } else if (!isId(id) || !settle(id, fields)) options.stray(message)
    },
    end(reason) {
      over ??= reason
      for (const { reject } of waiting.values()) reject(reason)
      waiting.clear()
    },
  }
}

type Fields = {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

function isId(id: unknown): id is JsonRpcId {
  return typeof id === 'string' || typeof id === 'number'
}

function errorFrom(error: unknown): JsonRpcError {
  const { code, message, data } = (error ?? {}) as { code?: unknown; message?: unknown; data?: unknown }
  return new JsonRpcError(
    typeof code === 'number' ? code : 0,
    typeof message === 'string' ? message : JSON.stringify(error),
    data,
  )
}
