#!/usr/bin/env node
// Plain JavaScript, so that Node need not load its type stripper before the compile cache is on.
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { runProgram } = await import('@parley/server/cli')
await runProgram(process)
