import type { IncomingMessage } from 'node:http'
import { ParleyError } from '@parley/protocol'
import { isTooDeep, maxJsonDepth } from '../../core/index.ts'

/**
 * The body of a request as JSON. A body that is too large is refused while it arrives, even if its headers declare
 * another length.
 */
export async function readJson(request: IncomingMessage, limit: number): Promise<unknown> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (!/^application\/([\w.-]+\+)?json$/.test(type)) {
    throw invalid('The body must be JSON; send it with "Content-Type: application/json".')
  }
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw invalid('The body must not be compressed.')
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
  if (request.readableEnded) return readBefore(request)
  return parse(await readBytes(request, limit))
}

/** Returns `request.body`, which the embedding server has already parsed. Throws if `request.body` is missing. */
function readBefore(request: IncomingMessage & { body?: unknown }): unknown {
  if (request.body !== undefined) return checkedDepth(request.body)
  throw invalid('The body was read before Parley received the request. Mount Parley before body parsers.')
}

/**
 * Reads the body. Does not use `for await`, because leaving that loop early would destroy the socket and with
 * it the answer.
 */
function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (act: () => void) => {
      request.off('data', onData).off('end', onEnd).off('error', onBreak).off('close', onBreak)
      act()
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else settle(() => reject(tooLarge(limit)))
    }
    const onEnd = () => settle(() => resolve(Buffer.concat(chunks)))
    const onBreak = () =>
      settle(() => reject(new ParleyError('cancelled', 'The connection closed before the body arrived.')))
    request.on('data', onData).on('end', onEnd).on('error', onBreak).on('close', onBreak)
  })
}

function parse(bytes: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    if (bytes.length === 0) throw invalid('The body is empty; send JSON.')
    throw invalid(
      `The body is not valid JSON: ${error instanceof Error ? error.message : 'unreadable'}`,
      error,
    )
  }
  return checkedDepth(value)
}

function checkedDepth(value: unknown): unknown {
  if (isTooDeep(value)) throw invalid(`The body is nested more than ${maxJsonDepth} levels deep.`)
  return value
}

function invalid(message: string, cause?: unknown): ParleyError {
  return new ParleyError('validation_error', message, { cause })
}

function tooLarge(limit: number): ParleyError {
  return new ParleyError('too_large', `The request is larger than the limit of ${limit} bytes.`, {
    details: { limit },
  })
}
