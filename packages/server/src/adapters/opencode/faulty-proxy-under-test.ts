import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A replacement for OpenCode that starts the real one and changes the traffic. `fault` selects the change:
 * - `version`: reports an old version;
 * - `rules`: drops the rules of sessions while `file` exists;
 * - `late`: holds the response to a command, and breaks it off before it passes on the next prompt;
 * - `steer`: fails one prompt when `file` exists, and removes the file. If the file contains `late`, OpenCode
 *   receives the prompt first. If it contains `after-check`, OpenCode receives the prompt after the next health check was
 *   answered. If it contains `unknown`, the request that checks whether the prompt is stored fails too.
 */
const [fault = '', file = '', program = '', ...args] = process.argv.slice(2)
const real = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
real.on('exit', (code) => process.exit(code ?? 1))

let said = ''
real.stdout.setEncoding('utf8').on('data', (text: string) => {
  const before = said
  said += text
  const port = /listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
  if (port !== undefined && !before.includes('listening on')) open(Number(port))
})

let unanswered: ServerResponse | undefined
let failsCheck = false
let passOnPrompt: (() => void) | undefined
const beforeItMs = 500

function open(port: number): void {
  const proxy = createServer(async (near, response) => {
    const { method, url = '', headers } = near
    if (fault === 'version' && url.startsWith('/global/health'))
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ healthy: true, version: '1.10.0' }))
    const body = withoutRules(
      method,
      url,
      Buffer.concat(await Array.fromAsync(near as AsyncIterable<Buffer>)),
    )
    const isCommand = fault === 'late' && method === 'POST' && /\/(command|summarize)(\?|$)/.test(url)
    if (isCommand) unanswered = response
    else if (url.includes('/prompt_async') && unanswered) {
      unanswered.destroy()
      unanswered = undefined
      await new Promise((resolve) => setTimeout(resolve, beforeItMs))
    }
    const failure = fault === 'steer' && url.includes('/prompt_async') ? takeFailure() : undefined
    if (failure === 'unknown') failsCheck = true
    if (failure === 'now' || failure === 'unknown') return response.writeHead(500).end()
    if (failsCheck && method === 'GET' && /\/message\/msg_/.test(url)) {
      failsCheck = false
      return response.writeHead(500).end()
    }
    const length = body.length > 0 ? { 'content-length': body.length } : {}
    const { 'transfer-encoding': _, ...others } = headers
    const far = request({ host: '127.0.0.1', port, method, path: url, headers: { ...others, ...length } })
    far.on('error', () => response.destroy())
    far.on('response', (answer) => {
      if (isCommand) return answer.resume()
      if (failure === 'late') return response.destroy()
      if (failure === 'after-check') return answer.resume()
      if (url.startsWith('/global/health')) response.once('finish', () => passOnPrompt?.())
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.flushHeaders()
      answer.pipe(response)
    })
    if (failure === 'after-check') {
      passOnPrompt = () => far.end(body)
      return response.destroy()
    }
    if (!isCommand) response.on('close', () => far.destroy())
    far.end(body)
  })
  proxy.listen(0, '127.0.0.1', () => {
    const { port: mine } = proxy.address() as AddressInfo
    console.log(`opencode server listening on http://127.0.0.1:${mine}`)
  })
}

function takeFailure(): string | undefined {
  if (!existsSync(file)) return undefined
  const failure = readFileSync(file, 'utf8')
  rmSync(file)
  return failure
}

function withoutRules(method: string | undefined, url: string, body: Buffer): Buffer {
  const changes = (method === 'POST' || method === 'PATCH') && /^\/session(\/\w+)?(\?|$)/.test(url)
  if (fault !== 'rules' || !changes || !existsSync(file)) return body
  const { permission: _, ...kept } = JSON.parse(body.toString() || '{}') as Record<string, unknown>
  return Buffer.from(JSON.stringify(kept))
}
