/** For authors of adapters: what the built-in ones are made with. */
export {
  type AcpAdapterOptions,
  AcpAgent,
  createAcpAdapter,
} from './adapters/acp/index.ts'
export {
  type CallOf,
  createHostToolServer,
  type RunningHostToolServer,
  startHostToolServer,
} from './adapters/host-tool-server.ts'
export { createOutputQueue, type OutputQueue } from './adapters/output-queue.ts'
