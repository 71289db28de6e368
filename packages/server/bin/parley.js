#!/usr/bin/env node
// Plain JavaScript, so that Node need not load its type stripper before the compile cache is on, and so that a Node
// that is too old can say so: nothing here may be missing in Node 18.
import module from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(
    `parley: this is Node ${process.versions.node}; Parley needs Node 22.18 or newer. Get it from https://nodejs.org\n`,
  )
  process.exit(1)
}
module.enableCompileCache?.()
const { runProgram } = await import('@parley/server/cli')
await runProgram(process)
