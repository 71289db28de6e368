import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The parts of a step in a transcript of Claude Code, as they appear in its lines. */
const linesOf = { call: '"type":"tool_use"', result: '"type":"tool_result"' }

/**
 * Removes the `nth` call or result and everything after it from the transcript of the session in `folder`. Claude Code
 * writes its transcript in batches, so a process that is killed leaves such a transcript.
 */
export function cutTranscript(home: string, folder: string, part: keyof typeof linesOf, nth: number): void {
  const files = globSync(join(home, '.claude/projects/*/*.jsonl'))
  const file = files.find((path) => readFileSync(path, 'utf8').includes(`"cwd":${JSON.stringify(folder)}`))
  if (file === undefined) throw new Error(`No transcript of a session in ${folder}.`)
  const lines = readFileSync(file, 'utf8').split('\n')
  const places = lines.flatMap((line, index) => (line.includes(linesOf[part]) ? [index] : []))
  writeFileSync(
    file,
    lines
      .slice(0, places[nth - 1] ?? lines.length)
      .map((line) => `${line}\n`)
      .join(''),
  )
}
